package link

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"
)

// Linux numbers of the address families, as Varlink carries them.
const (
	afAny   = 0
	afInet  = 2
	afInet6 = 10
)

const maxReply = 64 << 10 // bytes of a Varlink reply

// DNS return code "no such name" (RFC 1035, section 4.1.1).
const rcodeNameError = 3

// The parts of io.systemd.Resolve.ResolveHostname that are used; see
// systemd's org.freedesktop.resolve1(5) for the meaning of the fields.
type (
	resolveCall struct {
		Method     string        `json:"method"`
		Parameters resolveParams `json:"parameters"`
	}
	resolveParams struct {
		Name    string `json:"name"`
		Ifindex int    `json:"ifindex"`
		Family  int    `json:"family"`
	}
	resolveReply struct {
		Error      string `json:"error"`
		Parameters struct {
			Rcode     int               `json:"rcode"`
			Addresses []resolvedAddress `json:"addresses"`
		} `json:"parameters"`
	}
	resolvedAddress struct {
		Family int   `json:"family"`
		Bytes  []int `json:"address"` // as numbers; a []byte would be base64
	}
)

// varlinkLookup asks systemd-resolved for host's addresses by the servers of
// one interface. A name that does not exist is a *net.DNSError with IsNotFound.
func varlinkLookup(ctx context.Context, socket, host string, ifindex, family int) ([]netip.Addr, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()                                                           //nolint:errcheck // nothing is in flight
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // cannot fail while it is open
	defer stop()
	call, err := json.Marshal(resolveCall{
		Method:     "io.systemd.Resolve.ResolveHostname",
		Parameters: resolveParams{Name: host, Ifindex: ifindex, Family: family},
	})
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(append(call, 0)); err != nil {
		return nil, varlinkError(ctx, err)
	}
	reply, err := bufio.NewReader(io.LimitReader(conn, maxReply)).ReadBytes(0)
	if err != nil {
		return nil, varlinkError(ctx, err)
	}
	return parseVarlinkReply(reply[:len(reply)-1], host)
}

// varlinkError gives the reason why a conversation was cut short.
func varlinkError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("systemd-resolved: %w", err)
}

// parseVarlinkReply reads a reply to ResolveHostname, without its final NUL.
func parseVarlinkReply(b []byte, host string) ([]netip.Addr, error) {
	var reply resolveReply
	if err := json.Unmarshal(b, &reply); err != nil {
		return nil, fmt.Errorf("systemd-resolved: %w", err)
	}
	switch reply.Error {
	case "":
	case "io.systemd.Resolve.DNSError":
		if reply.Parameters.Rcode == rcodeNameError {
			return nil, notFound(host)
		}
		return nil, fmt.Errorf("systemd-resolved: the name server answered with code %d", reply.Parameters.Rcode)
	case "io.systemd.Resolve.NoSuchResourceRecord":
		return nil, notFound(host)
	default:
		return nil, fmt.Errorf("systemd-resolved: %.100q", reply.Error)
	}
	var addrs []netip.Addr
	for _, a := range reply.Parameters.Addresses {
		if addr, ok := a.addr(); ok && len(addrs) < maxAddrs {
			addrs = append(addrs, addr)
		}
	}
	if len(addrs) == 0 {
		return nil, notFound(host)
	}
	return addrs, nil
}

func (a resolvedAddress) addr() (netip.Addr, bool) {
	var raw [16]byte
	if len(a.Bytes) > len(raw) {
		return netip.Addr{}, false
	}
	for i, v := range a.Bytes {
		if v < 0 || v > 255 {
			return netip.Addr{}, false
		}
		raw[i] = byte(v)
	}
	switch {
	case a.Family == afInet && len(a.Bytes) == 4:
		return netip.AddrFrom4([4]byte(raw[:4])), true
	case a.Family == afInet6 && len(a.Bytes) == 16:
		return netip.AddrFrom16(raw).Unmap(), true
	}
	return netip.Addr{}, false
}

// notFound is the error by which callers know that a name does not exist.
func notFound(host string) error {
	return &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}
