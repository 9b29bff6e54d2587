package bench

import (
	"context"
	"fmt"
	"net"

	"github.com/mlget/mlget/internal/linklab"
)

// clientAddress is the IPv4 address of a link's device.
func clientAddress(lab *linklab.Lab, name string) (address string, err error) {
	err = lab.InClient(func() error {
		i, err := net.InterfaceByName(name)
		if err != nil {
			return err
		}
		addresses, err := i.Addrs()
		if err != nil {
			return err
		}
		for _, a := range addresses {
			if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil {
				address = n.IP.String()
				return nil
			}
		}
		return fmt.Errorf("%s has no IPv4 address", name)
	})
	return address, err
}

// setUpMPTCP lets connections over the first link take all others too, as a
// user would with iproute2.
func setUpMPTCP(ctx context.Context, lab *linklab.Lab) error {
	ip := linklab.Find("ip")
	limits := []string{"mptcp", "limits", "set", "subflows", "8", "add_addr_accepted", "8"}
	server := lab.Command(ctx, ip, limits...)
	if err := lab.InServer(server.Cmd.Run); err != nil {
		return fmt.Errorf("ip mptcp limits: %w", err)
	}
	if text, err := lab.Command(ctx, ip, limits...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip mptcp limits: %w: %s", err, lastLine(text))
	}
	for _, name := range lab.Links() {
		address, err := clientAddress(lab, name)
		if err != nil {
			return err
		}
		text, err := lab.Command(ctx, ip, "mptcp", "endpoint", "add", address, "dev", name, "subflow").CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip mptcp endpoint: %w: %s", err, lastLine(text))
		}
	}
	return nil
}
