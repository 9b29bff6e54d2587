package link

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/networkmanager"
)

// managerPatience is how long NetworkManager may take for all its answers: they are
// in its memory. A bus that hangs delays the start of a download by as much.
const managerPatience = 500 * time.Millisecond

// askManager asks NetworkManager about the interfaces that lead somewhere. Where it
// cannot be asked any more, what it said last holds. In a network namespace that
// shares /run with another one it speaks of that one's interfaces.
func (s System) askManager(ctx context.Context, infos []Info) {
	var names []string
	for _, i := range infos {
		if i.Virtual == VirtualNot {
			names = append(names, i.Name)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, managerPatience)
	defer cancel()
	known, err := networkmanager.Ask(ctx, s.busSocket(), names)
	if s.memory != nil {
		known = s.memory.managed(known, err == nil)
	}
	for k := range infos {
		infos[k].managed = known[infos[k].Name]
	}
}

// managed keeps what NetworkManager has said, and gives what it said last.
func (m *memory) managed(now map[string]networkmanager.Metered, whole bool) map[string]networkmanager.Metered {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !whole {
		before := maps.Clone(m.metered)
		if before == nil {
			return now
		}
		maps.Copy(before, now)
		now = before
	}
	m.metered = now
	return now
}

// busSocket is where the system's D-Bus listens.
func (s System) busSocket() string {
	if path, ok := strings.CutPrefix(os.Getenv("DBUS_SYSTEM_BUS_ADDRESS"), "unix:path="); ok && s.Root == "" {
		path, _, _ = strings.Cut(path, ",")
		path, _, _ = strings.Cut(path, ";")
		return path
	}
	return s.path("run/dbus/system_bus_socket")
}

// tetheredByDriver says whether the interface is a phone's on a cable, by its driver
// in sysfs: those of Android's and iPhones' tethering serve nothing else.
func (s System) tetheredByDriver(name string) bool {
	driver, err := os.Readlink(s.path("sys/class/net", name, "device/driver"))
	if err != nil {
		return false
	}
	switch filepath.Base(driver) {
	case "rndis_host", "ipheth":
		return true
	}
	return false
}
