package linklab

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// DropRoutes takes the default routes of a link away from the client: its device
// and its addresses stay, as when a DHCP lease or a router's advertisement has
// run out.
func (l *Lab) DropRoutes(link string) error {
	return l.client.do(func() error {
		dev, err := netlink.LinkByName(link)
		if err != nil {
			return fmt.Errorf("device %s: %w", link, err)
		}
		for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
			routes, err := netlink.RouteList(dev, family)
			if err != nil {
				return fmt.Errorf("routes of %s: %w", link, err)
			}
			for _, r := range routes {
				if r.Gw == nil {
					continue
				}
				if err := netlink.RouteDel(&r); err != nil {
					return fmt.Errorf("route of %s: %w", link, err)
				}
			}
		}
		return nil
	})
}

// RestoreRoutes gives them back.
func (l *Lab) RestoreRoutes(link string) error {
	for i, name := range l.Links() {
		if name != link {
			continue
		}
		s := subnetOf(i, name)
		return l.client.do(func() error {
			dev, err := netlink.LinkByName(link)
			if err != nil {
				return fmt.Errorf("device %s: %w", link, err)
			}
			for _, e := range s.ends() {
				a := e.gateway.Addr()
				r := netlink.Route{LinkIndex: dev.Attrs().Index, Priority: s.metric, Gw: a.AsSlice(), Dst: everything(a)}
				if err := netlink.RouteAdd(&r); err != nil && !errors.Is(err, unix.EEXIST) {
					return fmt.Errorf("route of %s: %w", link, err)
				}
			}
			return nil
		})
	}
	return fmt.Errorf("no link named %q", link)
}
