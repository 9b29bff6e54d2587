package link

import (
	"bufio"
	"bytes"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
)

const (
	maxFile    = 64 << 10 // bytes of a resolv.conf or lease that are looked at
	maxServers = 8        // name servers of one source that are used
)

// readSmall reads the beginning of a file; an unreadable one is empty.
func readSmall(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // nothing was written
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return nil
	}
	return b
}

// parseResolvConf gives the name servers of a resolv.conf(5). Lines that make
// no sense are passed over, as every resolver does.
func parseResolvConf(b []byte) []netip.AddrPort {
	var servers []netip.AddrPort
	lines := bufio.NewScanner(bytes.NewReader(b))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 2 && fields[0] == "nameserver" {
			servers = appendServer(servers, fields[1])
		}
	}
	return servers
}

func appendServer(servers []netip.AddrPort, text string) []netip.AddrPort {
	server, err := parseServer(text)
	if err != nil || len(servers) >= maxServers || slices.Contains(servers, server) {
		return servers
	}
	return append(servers, server)
}

// splitLocal separates name servers on this machine from others.
func splitLocal(servers []netip.AddrPort) (local, remote []netip.AddrPort) {
	for _, s := range servers {
		if s.Addr().IsLoopback() {
			local = append(local, s)
		} else {
			remote = append(remote, s)
		}
	}
	return local, remote
}
