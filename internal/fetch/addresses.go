package fetch

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Addresses says where connections to some origins go instead: to addresses that need no
// name server, or to other hosts and ports. Certificates, cookies and Host stay those of the
// URL. The zero value changes nothing. It must not change while it is used.
type Addresses struct {
	resolved map[string][]string // by host and port; of every host's port under the host *
	moved    []moved
}

// moved is another place for connections; what is empty is any, or stays as it is.
type moved struct{ fromHost, fromPort, toHost, toPort string }

var (
	errResolve   = errors.New("want HOST:PORT:ADDRESS[,ADDRESS...]")
	errConnectTo = errors.New("want HOST:PORT:HOST:PORT, of which any may be empty")
)

// Resolve takes curl's HOST:PORT:ADDRESS[,ADDRESS...]; HOST may be *.
func (a *Addresses) Resolve(text string) error {
	text = strings.TrimPrefix(text, "+") // curl's entry that times out
	parts, ok := fields(text, 3)
	if !ok || parts[0] == "" || !isPort(parts[1]) {
		return errResolve
	}
	var all []string
	for addr := range strings.SplitSeq(parts[2], ",") {
		ip, err := netip.ParseAddr(strings.Trim(addr, "[]"))
		if err != nil {
			return errResolve
		}
		all = append(all, ip.String())
	}
	if a.resolved == nil {
		a.resolved = make(map[string][]string)
	}
	a.resolved[net.JoinHostPort(strings.ToLower(parts[0]), parts[1])] = all
	return nil
}

// ConnectTo takes curl's HOST:PORT:HOST:PORT.
func (a *Addresses) ConnectTo(text string) error {
	parts, ok := fields(text, 4)
	if !ok || parts[1] != "" && !isPort(parts[1]) || parts[3] != "" && !isPort(parts[3]) {
		return errConnectTo
	}
	a.moved = append(a.moved, moved{strings.ToLower(parts[0]), parts[1], parts[2], parts[3]})
	return nil
}

// fields splits a text at its colons, except between brackets, into n parts, of which the last
// may contain more colons.
func fields(text string, n int) (parts []string, ok bool) {
	for len(parts) < n-1 {
		from := 0
		if strings.HasPrefix(text, "[") {
			from = max(0, strings.IndexByte(text, ']'))
		}
		at := strings.IndexByte(text[from:], ':')
		if at < 0 {
			return nil, false
		}
		parts = append(parts, strings.Trim(text[:from+at], "[]"))
		text = text[from+at+1:]
	}
	if n == 4 && strings.Contains(text, ":") {
		return nil, false
	}
	return append(parts, text), true
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// For are the hosts, or addresses, that connections to u's origin go to.
func (a *Addresses) For(u *url.URL) []string {
	all := a.of(a.place(originOf(u).addr))
	for i, addr := range all {
		if host, _, err := net.SplitHostPort(addr); err == nil {
			all[i] = host
		}
	}
	return all
}

// place is where connections to an origin go.
func (a *Addresses) place(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if a == nil || err != nil {
		return addr
	}
	for _, m := range a.moved {
		if m.fromHost != "" && m.fromHost != host || m.fromPort != "" && m.fromPort != port {
			continue
		}
		if m.toHost != "" {
			host = m.toHost
		}
		if m.toPort != "" {
			port = m.toPort
		}
		return net.JoinHostPort(host, port)
	}
	return addr
}

// of are the addresses to try for a place, in their order.
func (a *Addresses) of(place string) []string {
	host, port, err := net.SplitHostPort(place)
	if a == nil || err != nil {
		return []string{place}
	}
	ips, ok := a.resolved[place]
	if !ok {
		ips, ok = a.resolved[net.JoinHostPort("*", port)]
	}
	if !ok {
		ips = []string{host}
	}
	all := make([]string, len(ips))
	for i, ip := range ips {
		all[i] = net.JoinHostPort(ip, port)
	}
	return all
}
