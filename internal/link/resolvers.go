package link

import (
	"net/netip"
	"os"
	"path/filepath"
)

func (s System) path(elements ...string) string {
	root := s.Root
	if root == "" {
		root = string(filepath.Separator)
	}
	return filepath.Join(append([]string{root}, elements...)...)
}

// resolvers finds the sources of names for a link, in the order in which they
// are asked: systemd-resolved, which knows each link's servers; the link's
// lease; the machine's resolv.conf, or where that names only a stub on this
// machine, the servers behind the stub. The stub itself cannot be reached from
// a bound socket. It is taken, unbound, only where there is no other server,
// and appears in the list as ResolverSystem.
//
// NetworkManager's per-link servers are to be had over D-Bus only (its leases
// are readable by root alone, and not kept by every version), so they count
// only as far as it passes them to systemd-resolved or into a resolv.conf.
//
// From the loopback link servers on this machine are all that can be reached.
//
// In a network namespace that shares /run with another one, the two services
// of systemd speak of that one's links: give dns= there.
func (s System) resolvers(index int, loopback bool) []Resolver {
	list := []Resolver{}
	local, remote := splitLocal(parseResolvConf(readSmall(s.path("etc/resolv.conf"))))
	if loopback {
		if len(local) > 0 {
			list = append(list, Resolver{Method: ResolverResolvConf, Servers: local})
		}
		return list
	}
	socket := s.path("run/systemd/resolve/io.systemd.Resolve")
	if st, err := os.Stat(socket); err == nil && st.Mode()&os.ModeSocket != 0 {
		list = append(list, Resolver{Method: ResolverResolved, Socket: socket})
	}
	method, servers := s.linkServers(index)
	if len(servers) > 0 {
		list = append(list, Resolver{Method: method, Servers: servers})
	}
	if len(remote) == 0 && len(local) > 0 {
		remote = s.behindStub()
	}
	if len(remote) > 0 {
		return append(list, Resolver{Method: ResolverResolvConf, Servers: remote})
	}
	if len(servers) == 0 && len(local) > 0 {
		list = append(list, Resolver{Method: ResolverSystem, Servers: local})
	}
	return list
}

// behindStub gives the servers that a stub on this machine asks.
func (s System) behindStub() []netip.AddrPort {
	for _, file := range [...]string{
		"run/systemd/resolve/resolv.conf",
		"run/NetworkManager/no-stub-resolv.conf",
	} {
		if _, remote := splitLocal(parseResolvConf(readSmall(s.path(file)))); len(remote) > 0 {
			return remote
		}
	}
	return nil
}

// checkResolvers notes what the user should know of the way names take.
func (i *Info) checkResolvers() {
	switch {
	case i.Virtual == VirtualLoopback: // a name that it needs is in the hosts file
	case len(i.Resolvers) == 0:
		i.problem(Note, "no name server is known: only addresses and names of the hosts file work",
			"mlget --link "+shellWord(i.Name)+",dns=9.9.9.9")
	case i.Resolvers[0].Method == ResolverSystem:
		i.problem(Note, "names are resolved "+i.Resolvers[0].String(),
			"mlget --link "+shellWord(i.Name)+",dns=9.9.9.9")
	case i.Resolvers[len(i.Resolvers)-1].Method == ResolverSystem:
		i.problem(Note, "where systemd-resolved knows no server of this link, names are resolved "+
			i.Resolvers[len(i.Resolvers)-1].String(), "mlget --link "+shellWord(i.Name)+",dns=9.9.9.9")
	}
}
