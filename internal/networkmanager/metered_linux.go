//go:build !android

package networkmanager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/godbus/dbus/v5"
)

// The names on the bus (NetworkManager's D-Bus reference manual).
const (
	service         = "org.freedesktop.NetworkManager"
	managerPath     = "/org/freedesktop/NetworkManager"
	getDevice       = "org.freedesktop.NetworkManager.GetDeviceByIpIface"
	deviceInterface = "org.freedesktop.NetworkManager.Device"
	getProperty     = "org.freedesktop.DBus.Properties.Get"
)

// Ask returns what NetworkManager says of interfaces, by name, on the bus that
// listens at socket. Interfaces that it does not know are not in it. An error
// means that it could not be asked.
func Ask(ctx context.Context, socket string, names []string) (map[string]Metered, error) {
	var d net.Dialer
	raw, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	// The handshake knows no context.
	stop := context.AfterFunc(ctx, func() { raw.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // fails when it is closed
	defer stop()
	conn, err := dbus.NewConn(raw)
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	defer conn.Close() //nolint:errcheck // it was only asked
	if err := conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))}); err != nil {
		return nil, fmt.Errorf("D-Bus: %w", err)
	}
	if err := conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.Hello", 0).Err; err != nil {
		return nil, fmt.Errorf("D-Bus: %w", err)
	}
	found := make(map[string]Metered, len(names))
	for _, name := range names {
		m, err := ask(ctx, conn, name)
		var refused dbus.Error
		switch {
		case err == nil:
			found[name] = m
		case errors.As(err, &refused) && refused.Name == service+".UnknownDevice":
		default:
			return found, fmt.Errorf("NetworkManager: %w", err)
		}
	}
	return found, nil
}

func ask(ctx context.Context, conn *dbus.Conn, name string) (Metered, error) {
	var device dbus.ObjectPath
	// Not to be started: whoever does not use it has a reason.
	err := conn.Object(service, managerPath).CallWithContext(ctx, getDevice, dbus.FlagNoAutoStart, name).Store(&device)
	if err != nil {
		return Unknown, err
	}
	var value dbus.Variant
	err = conn.Object(service, device).CallWithContext(ctx, getProperty, dbus.FlagNoAutoStart, deviceInterface, "Metered").Store(&value)
	if err != nil {
		return Unknown, err
	}
	number, ok := value.Value().(uint32)
	if !ok {
		return Unknown, fmt.Errorf("property Metered is a %s", value.Signature())
	}
	return Metered(number), nil
}
