package link

import (
	"bytes"
	"cmp"
	"context"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/android"
)

// List finds every interface and checks it; see the function List.
func (s System) List(ctx context.Context) ([]Info, error) {
	snap, err := takeSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	if android.Here(s.Root) {
		snap.phone = s.askPhone(ctx, snap)
	}
	infos := s.inspect(snap, tryBind)
	if snap.phone == nil {
		s.askManager(ctx, infos)
	}
	return Apply(infos, nil), nil
}

// inspect checks every interface of a snapshot. bind says whether a socket can
// be bound to a device.
func (s System) inspect(snap *snapshot, bind func(name string) error) []Info {
	infos := make([]Info, 0, len(snap.links))
	main := append(snap.fib.lookup(flow{family: unix.AF_INET}), snap.fib.lookup(flow{family: unix.AF_INET6})...)
	for _, l := range snap.links {
		loopback := l.flags&unix.IFF_LOOPBACK != 0
		i := Info{
			Name:      l.name,
			Index:     l.index,
			Up:        l.flags&unix.IFF_UP != 0,
			Carrier:   l.flags&unix.IFF_LOWER_UP != 0,
			Addrs:     snap.addrsOf(l),
			RPFilter:  s.rpFilter(l.name),
			Resolvers: s.resolvers(l.index, loopback),
			Tech:      s.tech(l.name),
			Virtual:   classify(l.name, l.kind, loopback),
			Main:      slices.Contains(main, l.index),
			Problems:  []Problem{},
			tethered:  s.tetheredByDriver(l.name),
		}
		if loopback {
			i.Tech = TechUnknown
		}
		if snap.phone != nil && !loopback {
			s.inspectOnPhone(&i, snap, bind)
			infos = append(infos, i)
			continue
		}
		i.findDefaultRoutes(snap.fib)
		i.findRouters(snap.fib)
		if i.checkState(); i.worst(Fatal) == nil {
			// The rest says nothing about a link that is down.
			i.checkRoutes(snap.fib, l.flags&(unix.IFF_POINTOPOINT|unix.IFF_NOARP) != 0)
			i.checkReversePath(snap.fib)
			i.checkResolvers()
		}
		i.checkBind(snap.fib, bind(l.name))
		infos = append(infos, i)
	}
	slices.SortStableFunc(infos, func(a, b Info) int { return cmp.Compare(a.Index, b.Index) })
	return infos
}

// addrsOf gives the addresses of an interface that can be used now. A VRF uses those of the
// interfaces that belong to it.
func (s *snapshot) addrsOf(l linkMsg) []netip.Prefix {
	indexes := []int{l.index}
	for _, part := range s.links {
		if l.kind == kindVRF && part.master == l.index {
			indexes = append(indexes, part.index)
		}
	}
	list := []netip.Prefix{}
	for _, a := range s.addrs {
		if slices.Contains(indexes, a.index) && a.flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED) == 0 {
			list = append(list, a.prefix)
		}
	}
	return list
}

// rpFilter is the filter that is in effect: the higher one of the interface's
// and that for all (ip-sysctl.rst of Linux); -1 where neither can be read.
func (s System) rpFilter(name string) int {
	effective := -1
	for _, which := range [...]string{"all", name} {
		b := readSmall(s.path("proc/sys/net/ipv4/conf", which, "rp_filter"))
		if n, err := strconv.Atoi(string(bytes.TrimSpace(b))); err == nil {
			effective = max(effective, n)
		}
	}
	return effective
}

// tech asks sysfs, and where that says nothing, the name.
func (s System) tech(name string) Tech {
	for line := range strings.Lines(string(readSmall(s.path("sys/class/net", name, "uevent")))) {
		switch strings.TrimSpace(line) {
		case "DEVTYPE=wlan":
			return TechWiFi
		case "DEVTYPE=wwan":
			return TechLTE
		}
	}
	for _, dir := range [...]string{"wireless", "phy80211"} {
		if _, err := os.Stat(s.path("sys/class/net", name, dir)); err == nil {
			return TechWiFi
		}
	}
	return guessTech(name)
}
