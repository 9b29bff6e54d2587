package main_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// crossroads are namespaces of a client with one card, two routers behind it, and a server
// behind both.
type crossroads struct {
	name string // what the namespaces' names begin with
	dir  string
	url4 string
	url6 string
	sum  string // of the server's file
}

const crossroadsSize = 8 << 20

// newCrossroads makes them: card, in namespace client, has 192.0.2.10, the routers are
// 192.0.2.1 and .2, 2001:db8::1 and ::2, the server is 203.0.113.1 and 2001:db8:ff::1. Its
// answers all come back by the first router, which is nobody's choice but the server's.
func newCrossroads(t *testing.T, card string) *crossroads {
	t.Helper()
	needIP(t)
	if os.Getuid() != 0 {
		t.Skip("it takes root to make namespaces")
	}
	x := &crossroads{name: fmt.Sprintf("mlg%d%s", os.Getpid()%100000, card), dir: t.TempDir()}
	if out, err := exec.Command("ip", "netns", "add", x.name+"c").CombinedOutput(); err != nil {
		t.Skipf("no namespaces: %v: %s", err, out)
	}
	remove := func(which string) { _ = exec.Command("ip", "netns", "del", x.name+which).Run() }
	t.Cleanup(func() { remove("c") })
	for _, which := range []string{"1", "2", "s", "w"} {
		x.ip(t, "netns add "+x.name+which)
		t.Cleanup(func() { remove(which) })
	}
	// Addresses of IPv6 are usable at once where nobody looks for others with the same.
	for _, which := range []string{"c", "1", "2", "s", "w"} {
		for _, key := range []string{"net/ipv6/conf/default/accept_dad=0", "net/ipv6/conf/all/accept_dad=0", "net/ipv4/ip_forward=1", "net/ipv6/conf/all/forwarding=1", "net/ipv4/conf/all/rp_filter=0", "net/ipv4/conf/default/rp_filter=0"} {
			if which == "c" && strings.Contains(key, "forward") {
				continue
			}
			name, value, _ := strings.Cut(key, "=")
			x.in(t, which, "sh", "-c", "echo "+value+" > /proc/sys/"+name)
		}
		x.in(t, which, "ip", "link", "set", "lo", "up")
	}
	x.inIP(t, "w", "link add lan type bridge")
	x.inIP(t, "w", "link set lan up")
	x.wire(t, "c", card, "w", "pc")
	x.inIP(t, "w", "link set pc master lan")
	x.inIP(t, "c", "addr add 192.0.2.10/24 dev "+card)
	x.inIP(t, "c", "addr add 2001:db8::10/64 dev "+card+" nodad")
	x.inIP(t, "c", "route add default via 192.0.2.1 dev "+card)
	x.inIP(t, "c", "route add default via 2001:db8::1 dev "+card)
	x.inIP(t, "s", "addr add 203.0.113.1/32 dev lo")
	x.inIP(t, "s", "addr add 2001:db8:ff::1/128 dev lo nodad")
	for _, n := range []string{"1", "2"} {
		x.wire(t, n, "lan", "w", "p"+n)
		x.inIP(t, "w", "link set p"+n+" master lan")
		x.inIP(t, n, "addr add 192.0.2."+n+"/24 dev lan")
		x.inIP(t, n, "addr add 2001:db8::"+n+"/64 dev lan nodad")
		x.wire(t, n, "up", "s", "r"+n)
		x.inIP(t, n, "addr add 10.9."+n+".1/24 dev up")
		x.inIP(t, "s", "addr add 10.9."+n+".2/24 dev r"+n)
		x.inIP(t, n, "addr add 2001:db8:"+n+"::1/64 dev up nodad")
		x.inIP(t, "s", "addr add 2001:db8:"+n+"::2/64 dev r"+n+" nodad")
		x.inIP(t, n, "route add 203.0.113.0/24 via 10.9."+n+".2")
		x.inIP(t, n, "route add 2001:db8:ff::/64 via 2001:db8:"+n+"::2")
	}
	x.inIP(t, "s", "route add 192.0.2.0/24 via 10.9.1.1")
	x.inIP(t, "s", "route add 2001:db8::/64 via 2001:db8:1::1")
	x.serve(t)
	return x
}

func (x *crossroads) ip(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", args, err, out)
	}
}

// in runs a command in a namespace, and gives what it prints.
func (x *crossroads) in(t *testing.T, which string, command ...string) string {
	t.Helper()
	out, err := exec.Command("ip", append([]string{"netns", "exec", x.name + which}, command...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %q: %v: %s", which, command, err, out)
	}
	return string(out)
}

func (x *crossroads) inIP(t *testing.T, which, args string) string {
	t.Helper()
	return x.in(t, which, append([]string{"ip"}, strings.Fields(args)...)...)
}

// wire joins two namespaces.
func (x *crossroads) wire(t *testing.T, a, nameA, b, nameB string) {
	t.Helper()
	x.ip(t, fmt.Sprintf("link add name %s netns %s type veth peer name %s netns %s", nameA, x.name+a, nameB, x.name+b))
	x.inIP(t, a, "link set dev "+nameA+" up")
	x.inIP(t, b, "link set dev "+nameB+" up")
}

// serve serves a file in the server's namespace, slowly enough that both links have a part in it.
func (x *crossroads) serve(t *testing.T) {
	t.Helper()
	body := make([]byte, crossroadsSize)
	for i := range body {
		body[i] = byte(i >> 8 * 31)
	}
	x.sum = fmt.Sprintf("%x", sha256.Sum256(body))
	name := filepath.Join(x.dir, "body.bin")
	must(t, os.WriteFile(name, body, 0o600))
	listeners := make(chan net.Listener, 2)
	fails := make(chan error, 1)
	go func() { // in a thread that ends with its namespace
		runtime.LockOSThread()
		fd, err := unix.Open("/run/netns/"+x.name+"s", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNET)
			_ = unix.Close(fd)
		}
		for _, address := range []string{"203.0.113.1:80", "[2001:db8:ff::1]:80"} {
			var l net.Listener
			if err == nil {
				l, err = net.Listen("tcp", address)
			}
			if err == nil {
				listeners <- l
			}
		}
		fails <- err
	}()
	must(t, <-fails)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		http.ServeFile(&paced{w}, r, name)
	})}
	for range 2 {
		l := <-listeners
		go func() { _ = server.Serve(l) }()
	}
	t.Cleanup(func() { _ = server.Close() })
	x.url4, x.url6 = "http://203.0.113.1/body.bin", "http://[2001:db8:ff::1]/body.bin"
}

// paced is an answer of 8 MB/s at most.
type paced struct{ http.ResponseWriter }

func (s *paced) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(len(p)) * time.Second / 8e6)
	return s.ResponseWriter.Write(p)
}

// mlget runs it in the client's namespace; limits are of setpriv(1).
func (x *crossroads) mlget(t *testing.T, limits []string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	words := append([]string{"netns", "exec", x.name + "c"}, limits...)
	words = append(words, "mlget")
	p := &process{Cmd: exec.CommandContext(ctx, "ip", append(words, args...)...)}
	p.Dir, p.Stdout, p.Stderr = x.dir, &p.stdout, &p.stderr
	must(t, p.Start())
	return p.end(t)
}

// forwarded is how many bytes a router has sent to the server.
func (x *crossroads) forwarded(t *testing.T, which string) int64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^\s*up:\s*(?:\d+\s+){8}(\d+)`).FindStringSubmatch(x.in(t, which, "cat", "/proc/net/dev"))
	if m == nil {
		t.Fatal("no counters")
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	must(t, err)
	return n
}

// passed is how many datagrams of IPv4 a router has forwarded, in both directions.
func (x *crossroads) passed(t *testing.T, which string) int64 {
	return x.counter(t, which, "ForwDatagrams")
}

// counter is one of a namespace's counters.
func (x *crossroads) counter(t *testing.T, which, name string) int64 {
	t.Helper()
	return sumCounters(t, x.in(t, which, "cat", "/proc/net/snmp"), name)
}

// resets is how many resets the client has sent: for a connection that is gone the kernel sends
// them by its main table, whatever the mark of its socket was.
func (x *crossroads) resets(t *testing.T) int64 { return x.counter(t, "c", "OutRsts") }

// leftovers are the rules and routes that mlget has made and not removed.
func (x *crossroads) leftovers(t *testing.T) string {
	t.Helper()
	var left []string
	for _, what := range []string{"rule", "-6 rule", "route show table all", "-6 route show table all"} {
		for line := range strings.Lines(x.inIP(t, "c", what)) {
			if strings.Contains(line, "0x6d6c") || strings.Contains(line, "table 18357") || strings.Contains(line, "lookup 18357") {
				left = append(left, strings.TrimSpace(line))
			}
		}
	}
	return strings.Join(left, "\n")
}

// TestTwoRoutersBehindOneCard: one card is two links, each by a router of its own, as the routers'
// counters say, over IPv4 and over IPv6; the routes that this takes are gone afterwards.
func TestTwoRoutersBehindOneCard(t *testing.T) {
	t.Parallel()
	x := newCrossroads(t, "eth0")
	for _, c := range []struct{ one, two, url string }{
		{"192.0.2.1", "192.0.2.2", x.url4},
		{"2001:db8::1", "2001:db8::2", x.url6},
		{"192.0.2.2", "2001:db8::2", x.url4}, // of which the second does not lead there
	} {
		before := [2]int64{x.forwarded(t, "1"), x.forwarded(t, "2")}
		x.mlget(t, nil, "--link", "eth0,via="+c.one, "--link", "eth0,via="+c.two, "--report", "r.json", "-o", "out.bin", "--checksum", "sha256="+x.sum, c.url).want(t, 0)
		must(t, os.Remove(filepath.Join(x.dir, "out.bin")))
		rep := readReport(t, filepath.Join(x.dir, "r.json"))
		carried := make(map[string]int64)
		for _, l := range rep.Links {
			carried[l.Name] = l.Bytes
			if l.Bind != "device" {
				t.Errorf("%+v", l)
			}
		}
		sent := [2]int64{x.forwarded(t, "1") - before[0], x.forwarded(t, "2") - before[1]}
		t.Logf("%v received, %v sent by router", carried, sent)
		one, two := carried["eth0@"+c.one], carried["eth0@"+c.two]
		switch {
		case len(rep.Links) != 2:
			t.Errorf("%+v", rep.Links)
		case strings.HasSuffix(c.one, "1") && (one < crossroadsSize/10 || two < crossroadsSize/10 || sent[0] < 1000 || sent[1] < 1000):
			t.Errorf("%v bytes by link, %v sent by router", carried, sent)
		case strings.HasSuffix(c.one, "2") && (one != crossroadsSize || two != 0 || sent[0] > 500 || sent[1] < 1000): // neighbours ask for each other
			t.Errorf("%v bytes by link, %v sent by router", carried, sent)
		}
		if left := x.leftovers(t); left != "" {
			t.Errorf("left:\n%s", left)
		}
	}

	// A killed one leaves its routes; the next one removes them.
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	killed := exec.CommandContext(ctx, "ip", "netns", "exec", x.name+"c", "mlget", "--link", "eth0,via=192.0.2.2", "--limit-rate", "1M", "-o", "killed.bin", x.url4)
	killed.Dir = x.dir
	must(t, killed.Start())
	waitForBytes(t, filepath.Join(x.dir, "killed.bin.part"), 100_000)
	must(t, killed.Process.Kill())
	_ = killed.Wait() // it was killed
	if x.leftovers(t) == "" {
		t.Error("a killed program leaves nothing: this test shows nothing")
	}
	x.mlget(t, nil, "--link", "eth0,via=2001:db8::2", "-o", "out.bin", x.url6).want(t, 0)
	if left := x.leftovers(t); left != "" {
		t.Errorf("left:\n%s", left)
	}

	// Nobody's router.
	x.mlget(t, nil, "--link", "eth0,via=198.51.100.7", x.url4).want(t, 45, `198\.51\.100\.7 is no neighbour on eth0`)
}

// TestACardThatWasDown: the kernel forgets routes when a card goes down; a link by a gateway has
// its own again when the card is back.
func TestACardThatWasDown(t *testing.T) {
	t.Parallel()
	x := newCrossroads(t, "en0")
	// Answers come by the link's router, too: all that the other one forwards is the client's.
	x.inIP(t, "s", "route change 192.0.2.0/24 via 10.9.2.1")
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	p := &process{Cmd: exec.CommandContext(ctx, "ip", "netns", "exec", x.name+"c", "mlget", "--link", "en0,via=192.0.2.2", "--limit-rate", "1M", "-o", "out.bin", x.url4)}
	p.Dir, p.Stderr = x.dir, &p.stderr
	must(t, p.Start())
	waitForBytes(t, filepath.Join(x.dir, "out.bin.part"), 500_000)
	x.inIP(t, "c", "link set dev en0 down")
	if x.leftovers(t) == "" {
		t.Error("no rule")
	}
	time.Sleep(500 * time.Millisecond)
	x.inIP(t, "c", "link set dev en0 up")
	x.inIP(t, "c", "route add default via 192.0.2.1 dev en0")
	before := [3]int64{x.passed(t, "1"), x.passed(t, "2"), x.resets(t)}
	// While it runs: the kernel closes its connections later, without its routes.
	waitUntil(t, "datagrams by the link's router", func() bool { return x.passed(t, "2")-before[1] >= 100 })
	if one, resets := x.passed(t, "1")-before[0], x.resets(t)-before[2]; one > resets {
		t.Errorf("%d datagrams forwarded by the other router, %d resets sent", one, resets)
	}
	p.end(t).want(t, 0)
	if left := x.leftovers(t); left != "" {
		t.Errorf("left:\n%s", left)
	}
}

// TestRoutersWithoutRights: without the right to make routes a link by the card's own gateway
// works, another one does not, which is said with what helps; and that helps.
func TestRoutersWithoutRights(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip(err)
	}
	x := newCrossroads(t, "uplink0") // a namespace's own device, taken as it is named
	limits := []string{"setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin"}
	args := []string{"--links", "uplink0", "--link", "uplink0,via=192.0.2.1", "--link", "uplink0,via=192.0.2.2", "--report", "r.json", "-o", "out.bin", x.url4}
	x.mlget(t, limits, args...).want(t, 0,
		`^mlget: link uplink0@192\.0\.2\.2 is not used: no route of its own can be made: operation not permitted \(as root, or with a second address: sudo ip addr add ADDRESS/PREFIX dev uplink0; sudo ip route add default via 192\.0\.2\.2 dev uplink0 table 101; sudo ip rule add from ADDRESS table 101\)`)
	must(t, os.Remove(filepath.Join(x.dir, "out.bin")))
	x.inIP(t, "c", "addr add 192.0.2.11/24 dev uplink0")
	x.inIP(t, "c", "route add default via 192.0.2.2 dev uplink0 table 101")
	x.inIP(t, "c", "rule add from 192.0.2.11 table 101")
	before := x.forwarded(t, "2")
	x.mlget(t, limits, args...).want(t, 0)
	rep := readReport(t, filepath.Join(x.dir, "r.json"))
	if len(rep.Links) != 2 || rep.Links[0].Bytes == 0 || rep.Links[1].Bytes == 0 || !strings.HasPrefix(rep.Links[1].LocalAddr, "192.0.2.11:") || x.forwarded(t, "2")-before < 1000 {
		t.Errorf("%+v, %d bytes sent by the second router", rep.Links, x.forwarded(t, "2")-before)
	}
	if err := os.Remove(filepath.Join(x.dir, "out.bin")); errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
