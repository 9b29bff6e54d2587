package link

import "strings"

// looksReal says whether a name is one that radios and network cards get.
// Such a name overrides the kind of device: a container's only way out is a
// veth called eth0, and an emulated link is a TUN device called wlan0.
func looksReal(name string) bool {
	return guessTech(name) != TechUnknown || strings.HasPrefix(name, "v4-") // Android's 464XLAT
}

// TechOf guesses a link's technology from its interface's name.
func TechOf(name string) Tech { return guessTech(name) }

// guessTech guesses from the interface's name.
func guessTech(name string) Tech {
	name = strings.TrimPrefix(name, "v4-")
	for _, g := range [...]struct {
		prefix string
		tech   Tech
	}{
		{"wl", TechWiFi}, // wlan0, wlp3s0, wlx...
		{"swlan", TechWiFi},
		{"Wi-Fi", TechWiFi},
		{"rmnet", TechLTE},
		{"ccmni", TechLTE},
		{"seth_lte", TechLTE}, // Unisoc, as is the next one
		{"sipa_eth", TechLTE},
		{"ww", TechLTE}, // wwan0, wwp0s20u4
		{"pdp_ip", TechLTE},
		{"Cellular", TechLTE},
		{"Mobile", TechLTE},
		{"eth", TechEthernet},
		{"en", TechEthernet},
		{"Ethernet", TechEthernet},
	} {
		if strings.HasPrefix(name, g.prefix) {
			return g.tech
		}
	}
	return TechUnknown
}

// kindVirtual judges by the kernel's kind of device (IFLA_INFO_KIND). Kinds
// that lead somewhere by themselves (vlan, bond, macvlan, ppp) are not virtual.
func kindVirtual(kind string) Virtual {
	switch kind {
	case "bridge", "openvswitch":
		return VirtualBridge
	case "tun", "wireguard", "xfrm", "vti", "vti6", "ipip", "sit", "ip6tnl", "gre", "gretap",
		"ip6gre", "ip6gretap", "erspan", "vxlan", "geneve", "gtp", "l2tpeth", "amneziawg", "ovpn":
		return VirtualVPN
	case "vrf":
		return VirtualVRF
	case "veth", "netkit":
		return VirtualContainer
	case "dummy", "ifb", "nlmon", "vcan", "netdevsim":
		return VirtualDummy
	}
	return VirtualNot
}

// nameVirtual judges by the name, for systems that tell no kind.
func nameVirtual(name string) Virtual {
	for _, g := range [...]struct {
		prefix string
		why    Virtual
	}{
		{"br-", VirtualBridge},
		{"bridge", VirtualBridge},
		{"virbr", VirtualBridge},
		{"lxcbr", VirtualBridge},
		{"docker", VirtualContainer},
		{"podman", VirtualContainer},
		{"veth", VirtualContainer},
		{"lxc", VirtualContainer},
		{"cni", VirtualContainer},
		{"cali", VirtualContainer},
		{"flannel", VirtualContainer},
		{"vmnet", VirtualContainer},
		{"vboxnet", VirtualContainer},
		{"vEthernet", VirtualContainer},
		{"VMware", VirtualContainer},
		{"VirtualBox", VirtualContainer},
		{"tun", VirtualVPN},
		{"tap", VirtualVPN},
		{"utun", VirtualVPN},
		{"ipsec", VirtualVPN},
		{"wg", VirtualVPN},
		{"tailscale", VirtualVPN},
		{"Tailscale", VirtualVPN},
		{"WireGuard", VirtualVPN},
		{"nordlynx", VirtualVPN},
		{"gif", VirtualVPN},
		{"stf", VirtualVPN},
		{"zt", VirtualVPN},
		{"awdl", VirtualDummy}, // Apple's peer-to-peer Wi-Fi
		{"llw", VirtualDummy},
		{"anpi", VirtualDummy},
		{"dummy", VirtualDummy},
		{"ifb", VirtualDummy},
	} {
		if strings.HasPrefix(name, g.prefix) {
			return g.why
		}
	}
	return VirtualNot
}

// classify says whether and why a link is virtual; kind is "" where unknown.
func classify(name, kind string, loopback bool) Virtual {
	if loopback {
		return VirtualLoopback
	}
	if looksReal(name) {
		return VirtualNot
	}
	if why := kindVirtual(kind); why != VirtualNot {
		return why
	}
	return nameVirtual(name)
}
