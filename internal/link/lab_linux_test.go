package link

import (
	"flag"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

const inNamespace = "MLGET_TEST_IN_NAMESPACE"

// ownNamespace runs the calling test once more, as a process in a network
// namespace of its own, and says whether this is that process. A process, not
// a locked thread, as dialling goes through threads of Go's choosing.
func ownNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inNamespace) == t.Name() {
		return true
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=60s")
	if dir := flag.Lookup("test.gocoverdir"); dir != nil && dir.Value.String() != "" {
		cmd.Args = append(cmd.Args, "-test.gocoverdir="+dir.Value.String()) // what it covers counts, too
	}
	cmd.Env = append(os.Environ(), inNamespace+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	// The parent-death signal is bound to the thread that starts the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		t.Skipf("no network namespace: %v", err)
	}
	err := cmd.Wait()
	t.Log(out.String())
	switch {
	case err != nil:
		t.Errorf("in its own namespace: %v", err)
	case strings.Contains(out.String(), "--- SKIP"):
		t.Skip("skipped in its own namespace")
	}
	return false
}

// The provider's side of every link has the same addresses, so that what
// answers tells by which link one came.
const (
	labHost  = "203.0.113.9"
	labHost6 = "2001:db8:9::9"
	labDNS   = "203.0.113.53"
	labPort  = "8080"
	labName  = "cdn.mlget-test"
)

// provider is the far side of one link: a namespace with a server that tells
// the link's name, and a name server that knows labName by an address of the
// provider's own.
type provider struct {
	name    string // of the link
	number  byte   // the link has 10.number.0.2/24 and 2001:db8:number::2/64
	ns      netns.NsHandle
	cdn     netip.Addr // what labName is called here
	gateway net.IP
	index   int
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within runs f with the thread in a namespace; sockets that f opens stay there.
func within(t *testing.T, ns netns.NsHandle, f func()) {
	t.Helper()
	runtime.LockOSThread()
	home, err := netns.Get()
	must(t, err)
	defer closing(t, &home)
	must(t, netns.Set(ns))
	f()
	must(t, netns.Set(home)) // on failure the thread stays locked and dies
	runtime.UnlockOSThread()
}

func newProvider(t *testing.T, name string, number byte) *provider {
	t.Helper()
	p := &provider{name: name, number: number, cdn: netip.AddrFrom4([4]byte{203, 0, 113, 100 + number})}
	runtime.LockOSThread()
	home, err := netns.Get()
	must(t, err)
	p.ns, err = netns.New()
	if err == nil {
		must(t, netns.Set(home))
	}
	runtime.UnlockOSThread()
	_ = home.Close()
	if err != nil {
		t.Skipf("no second network namespace: %v", err)
	}
	t.Cleanup(func() { closing(t, &p.ns) })

	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "far", PeerNamespace: netlink.NsFd(p.ns)}); err != nil {
		t.Skipf("no veth pair: %v", err)
	}
	p.gateway = net.IPv4(10, number, 0, 1)
	prefix6 := "2001:db8:" + string('0'+rune(number)) + "::"
	near, err := netlink.LinkByName(name)
	must(t, err)
	p.index = near.Attrs().Index
	addAddr(t, near, netip.AddrFrom4([4]byte{10, number, 0, 2}).String()+"/24")
	addAddr(t, near, prefix6+"2/64")
	must(t, netlink.LinkSetUp(near))
	within(t, p.ns, func() {
		// A provider's gateway does not answer for addresses behind it.
		must(t, os.WriteFile("/proc/sys/net/ipv4/conf/all/arp_ignore", []byte("1"), 0o644))
		lo, err := netlink.LinkByName("lo")
		must(t, err)
		must(t, netlink.LinkSetUp(lo))
		for _, a := range []string{labHost, labDNS, p.cdn.String()} {
			addAddr(t, lo, a+"/32")
		}
		addAddr(t, lo, labHost6+"/128")
		far, err := netlink.LinkByName("far")
		must(t, err)
		addAddr(t, far, p.gateway.String()+"/24")
		addAddr(t, far, prefix6+"1/64")
		must(t, netlink.LinkSetUp(far))
		serve(t, listen(t, "tcp", ":"+labPort), name)
		serveDNS(t, labDNS+":53", p.cdn)
	})
	return p
}

func addAddr(t *testing.T, l netlink.Link, text string) {
	t.Helper()
	a, err := netlink.ParseAddr(text)
	must(t, err)
	if a.IP.To4() == nil {
		a.Flags = unix.IFA_F_NODAD
	}
	must(t, netlink.AddrAdd(l, a))
}

// route adds a default route by the provider.
func (p *provider) route(t *testing.T, table, metric int) {
	t.Helper()
	must(t, netlink.RouteAdd(&netlink.Route{LinkIndex: p.index, Gw: p.gateway, Table: table, Priority: metric}))
}

func (p *provider) route6(t *testing.T, metric int) {
	t.Helper()
	_, all, err := net.ParseCIDR("::/0")
	must(t, err)
	must(t, netlink.RouteAdd(&netlink.Route{
		LinkIndex: p.index, Dst: all, Priority: metric,
		Gw: net.ParseIP("2001:db8:" + string('0'+rune(p.number)) + "::1"),
	}))
}

// sourceRule sends what comes from the link's address by table.
func (p *provider) sourceRule(t *testing.T, table int) {
	t.Helper()
	r := netlink.NewRule()
	r.Src = &net.IPNet{IP: net.IPv4(10, p.number, 0, 2).To4(), Mask: net.CIDRMask(32, 32)}
	r.Table = table
	r.Family = unix.AF_INET
	must(t, netlink.RuleAdd(r))
}

func setRPFilter(t *testing.T, name, value string) {
	t.Helper()
	must(t, os.WriteFile("/proc/sys/net/ipv4/conf/"+name+"/rp_filter", []byte(value), 0o644)) // of this thread's namespace
}

// labSystem is the machine with another resolv.conf and no other source of names.
func labSystem(t *testing.T, resolvConf string) System {
	t.Helper()
	s := tree(t, map[string]string{"etc/resolv.conf": resolvConf})
	must(t, os.Symlink("/proc", filepath.Join(s.Root, "proc")))
	return s
}

func (s System) find(t *testing.T, name string) Info {
	t.Helper()
	infos, err := s.List(t.Context())
	must(t, err)
	for _, i := range infos {
		if i.Name == name {
			return i
		}
	}
	t.Fatalf("%s is not among %+v", name, infos)
	return Info{}
}

// serveDNS knows labName by one address and no other name.
func serveDNS(t *testing.T, addr string, cdn netip.Addr) {
	conn, err := net.ListenPacket("udp4", addr)
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			if reply, err := dnsReply(b[:n], cdn); err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
}

func dnsReply(query []byte, cdn netip.Addr) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	switch q := m.Questions[0]; {
	case q.Name.String() != labName+".":
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1},
			Body:   &dnsmessage.AResource{A: cdn.As4()},
		}}
	}
	return m.Pack()
}

// patience is how long to wait for what is expected to work, or not to.
func patience(works bool) time.Duration {
	if works {
		return 20 * time.Second
	}
	return 250 * time.Millisecond
}
