package link

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mlget/mlget/internal/plan"
	"github.com/mlget/mlget/internal/units"
)

// ErrSpec says that a text does not describe a link.
var ErrSpec = errors.New("bad link description")

const dnsPort = 53

// The roles a link can have.
const (
	RolePrimary = "primary" // carries what it can
	RoleBackup  = "backup"  // carries what the primary links cannot
)

// Spec is the user's description of a link. Zero fields were not given.
type Spec struct {
	Name      string
	Rate      int64          // most bytes per second
	Cap       int64          // most bytes in all
	Plan      plan.Plan      // most bytes in a period, over all runs
	Window    plan.Window    // the hours at which it may be used
	Tech      Tech           // overrides what List guessed
	Bandwidth float64        // known capacity, bytes per second
	DNS       netip.AddrPort // the only name server to ask
	Role      string         // RolePrimary or RoleBackup
	Proxy     string         // URL of the proxy that requests over the link go through; it may hold a password
	Via       netip.Addr     // the router behind the interface that its packets go to
	Metered   string         // MeteredYesText or MeteredNoText: whether its data costs money
}

// Key is the link's name: that of its interface, which may be another one's, too, with a
// gateway's address behind it.
func (s Spec) Key() string {
	if s.Via.IsValid() {
		return s.Name + "@" + s.Via.String()
	}
	return s.Name
}

// ParseSpec reads NAME or NAME,key=value,... with the keys rate, cap, window, tech,
// bandwidth, dns, role, metered, proxy and via: "wlan0,rate=2M,cap=200M,dns=9.9.9.9,role=backup".
// Errors wrap ErrSpec.
func ParseSpec(text string) (Spec, error) {
	if len(text) > 1024 {
		return Spec{}, fmt.Errorf("%w: longer than 1024 bytes", ErrSpec)
	}
	name, rest, more := strings.Cut(text, ",")
	if err := checkName(name); err != nil {
		return Spec{}, err
	}
	spec := Spec{Name: name}
	seen := make(map[string]bool)
	for more {
		var pair string
		pair, rest, more = strings.Cut(rest, ",")
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return Spec{}, fmt.Errorf("%w: %q: want key=value", ErrSpec, pair)
		}
		if seen[key] {
			return Spec{}, fmt.Errorf("%w: %s= is given twice", ErrSpec, key)
		}
		seen[key] = true
		if err := spec.set(key, value); err != nil {
			return Spec{}, fmt.Errorf("%w: %s: %s=: %w", ErrSpec, name, key, err)
		}
	}
	switch {
	case spec.Via.IsValid() && IsGroup(name):
		return Spec{}, fmt.Errorf("%w: %s: via= is for one interface", ErrSpec, name)
	case spec.Via.IsValid() && spec.Proxy != "":
		return Spec{}, fmt.Errorf("%w: %s: via= and proxy= do not go together", ErrSpec, name)
	}
	return spec, nil
}

func (s *Spec) set(key, value string) (err error) {
	switch key {
	case "rate":
		s.Rate, err = positive(units.ParseRate(value))
	case "cap":
		if strings.Contains(value, "/") {
			s.Plan, err = plan.Parse(value)
			break
		}
		s.Cap, err = positive(units.ParseSize(value))
	case "window":
		s.Window, err = plan.ParseWindow(value)
	case "bandwidth":
		var rate int64
		rate, err = positive(units.ParseRate(value))
		s.Bandwidth = float64(rate)
	case "tech":
		s.Tech, err = parseTech(value)
	case "dns":
		s.DNS, err = parseServer(value)
	case "role":
		if value != RolePrimary && value != RoleBackup {
			return errors.New("want primary or backup")
		}
		s.Role = value
	case "via":
		s.Via, err = netip.ParseAddr(value)
		if s.Via = s.Via.Unmap(); err != nil || s.Via.Zone() != "" || s.Via.IsUnspecified() || s.Via.IsMulticast() || s.Via.IsLoopback() {
			s.Via = netip.Addr{}
			return errors.New("want the address of a router")
		}
	case "metered":
		if value != MeteredYesText && value != MeteredNoText {
			return errors.New("want yes or no")
		}
		s.Metered = value
	case "proxy":
		u, bad := url.Parse(value)
		if bad != nil || u.Scheme == "" || u.Hostname() == "" { // which would quote a password
			return errors.New("want a URL, like socks5h://HOST:PORT")
		}
		s.Proxy = value
	default:
		err = errors.New("no such key; there are rate, cap, window, tech, bandwidth, dns, role, metered, proxy and via")
	}
	return err
}

func parseTech(text string) (Tech, error) {
	for _, t := range [...]Tech{TechWiFi, TechLTE, TechNR, Tech3G, TechEthernet} {
		if string(t) == text {
			return t, nil
		}
	}
	return TechUnknown, errors.New("want wifi, lte, nr, 3g or ethernet")
}

func positive(n int64, err error) (int64, error) {
	if err == nil && n == 0 {
		return 0, errors.New("must be more than 0")
	}
	return n, err
}

// checkName refuses what no interface can be called. Windows has names of
// many words, so spaces are no reason to refuse.
func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: no interface name", ErrSpec)
	case len(name) > 256, !utf8.ValidString(name), strings.ContainsAny(name, "=/"):
		return fmt.Errorf("%w: %q is not an interface name", ErrSpec, name)
	}
	for _, r := range name {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%w: %q is not an interface name", ErrSpec, name)
		}
	}
	return nil
}

// parseServer reads an address with or without a port: 9.9.9.9, 9.9.9.9:53,
// ::1, [::1]:53, fe80::1%wlan0.
func parseServer(text string) (netip.AddrPort, error) {
	bare := text
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		bare = text[1 : len(text)-1]
	}
	// A zone may hold any character: one bracket more and it holds the port.
	if addr, err := netip.ParseAddr(bare); err == nil && !strings.ContainsAny(bare, "[]") {
		return checkServer(netip.AddrPortFrom(addr.Unmap(), dnsPort))
	}
	server, err := netip.ParseAddrPort(text)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("%q is not an address of a name server", text)
	}
	return checkServer(netip.AddrPortFrom(server.Addr().Unmap(), server.Port()))
}

func checkServer(server netip.AddrPort) (netip.AddrPort, error) {
	if server.Port() == 0 || server.Addr().IsUnspecified() || server.Addr().IsMulticast() {
		return netip.AddrPort{}, fmt.Errorf("%s cannot be a name server", server)
	}
	return server, nil
}
