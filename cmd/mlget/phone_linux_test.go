package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/android"
	"github.com/mlget/mlget/internal/android/androidtest"
	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/report"
)

// What tells this program to be something else than a run of its tests: the
// phone in a laboratory's network, or a user of it.
const (
	asPhone = "MLGET_TEST_PHONE"
	asUser  = "MLGET_TEST_PHONE_USER" // root, user id, API level of the filter or 0; and "watched" and a folder, where descriptor 3 leads to a SELinux
	// asFiltered is a process under the filter of an API level that makes a call,
	// which it holds both.
	asFiltered = "MLGET_TEST_FILTERED"
)

// standIn is what this process is, if no run of tests.
func standIn() {
	if as := os.Getenv(asUser); as != "" {
		fmt.Fprintln(os.Stderr, becomeUser(strings.Fields(as), os.Args[1:]))
		os.Exit(125)
	}
	var sdk int
	var call uintptr
	if n, _ := fmt.Sscan(os.Getenv(asFiltered), &sdk, &call); n == 2 {
		if err := androidtest.Confine(sdk); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(125)
		}
		const none = ^uintptr(0) // no descriptor, no address, no process: an error
		if _, _, errno := unix.Syscall6(call, none, none, none, none, none, none); errno == 0 {
			os.Exit(125)
		}
		os.Exit(0)
	}
}

// insidePhone says whether this process is the phone of TestPhone.
func insidePhone() bool { return os.Getenv(asPhone) != "" }

// becomeUser goes into a phone's tree, becomes one of its users, under the
// filter that apps are under, and then another program.
func becomeUser(as, args []string) error {
	uid, err := strconv.Atoi(as[1])
	if err != nil {
		return err
	}
	sdk, err := strconv.Atoi(as[2])
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	// What the kernel shows is at its place, for this process and those that it starts.
	err = unix.Unshare(unix.CLONE_NEWNS)
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	for _, dir := range []string{"proc", "sys", "dev/null", "dev/urandom"} {
		if err == nil {
			err = unix.Mount("/"+dir, filepath.Join(as[0], dir), "", unix.MS_BIND|unix.MS_REC, "")
		}
	}
	if err != nil {
		return err
	}
	var groups []int // every app with the permission INTERNET is in this one, as is the shell
	if uid != anOffline {
		groups = []int{androidtest.Inet}
	}
	for _, err := range []error{
		syscall.Chroot(as[0]), syscall.Chdir("/data/local/tmp"),
		syscall.Setgroups(groups), syscall.Setgid(uid), syscall.Setuid(uid),
	} {
		if err != nil {
			return err
		}
	}
	if len(as) > 3 {
		if err := syscall.Chdir(as[4]); err != nil {
			return err
		}
		if err := androidtest.ConfineTo(3); err != nil {
			return err
		}
	}
	if sdk > 0 {
		if err := androidtest.Confine(sdk); err != nil {
			return err
		}
	}
	return syscall.Exec(args[0], args, environmentOf(uid))
}

// environmentOf is what a user's programs have as their environment: Termux's, or that
// of adb's shell, whose home is that of bionic's user table.
func environmentOf(uid int) []string {
	if uid >= 10000 {
		const prefix = "/data/data/com.termux/files/usr"
		return []string{"HOME=/data/data/com.termux/files/home", "PREFIX=" + prefix, "TMPDIR=" + prefix + "/tmp", "PATH=" + prefix + "/bin"}
	}
	return []string{"HOME=/", "TMPDIR=" + phoneFiles, "PATH=/system/bin"}
}

// authoritiesOf is where an Android of an API level keeps its certificates: a module
// from 14 on.
func authoritiesOf(sdk int) string {
	if sdk >= 34 {
		return "/apex/com.android.conscrypt/cacerts"
	}
	return "/system/etc/security/cacerts"
}

// testPhone is a phone's tree and network, around this process.
type testPhone struct {
	root string
	netd *androidtest.Netd
}

const (
	anApp      = 10123
	aFriend    = 10124 // an app that its user lets use cellular
	aSecured   = 10125 // an app under a VPN
	anOffline  = 10126 // an app without the permission INTERNET
	aShell     = 2000
	phoneFiles = "/data/local/tmp"
	phoneName  = "cdn.mlget-test." // has another address on each network
)

// makePhone shapes the network that this process is in as a phone's, and makes
// a tree that looks like one.
func makePhone(t *testing.T, sdk int) *testPhone {
	t.Helper()
	root, err := os.MkdirTemp("", "phone")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(root)) })
	must(t, os.Chmod(root, 0o755))
	p := &testPhone{root: root}
	var friends []uint32
	if sdk >= 31 {
		friends = []uint32{aFriend}
	}
	p.netd = &androidtest.Netd{
		SDK: sdk,
		Networks: []androidtest.Network{
			{NetID: 100, Names: map[string]netip.Addr{phoneName: netip.MustParseAddr("192.0.2.1")}},
			{
				NetID: 101, Permission: android.PermissionNetwork, Users: friends,
				Names: map[string]netip.Addr{phoneName: netip.MustParseAddr("2001:db8::1")},
			},
		},
		Users:   map[uint32]android.Permission{aShell: android.PermissionNetwork},
		Secured: []uint32{aSecured},
		Group:   androidtest.Inet,
	}
	if _, err := netlink.LinkByName("tun0"); err == nil { // a laboratory's link plays the VPN's
		p.netd.VPN, p.netd.VPNID = "tun0", 102
	}
	must(t, androidtest.Shape(p.netd, []androidtest.Interface{
		{Name: "wlan0", Network: p.netd.Networks[0]}, {Name: "rmnet0", Network: p.netd.Networks[1]},
	}))
	for _, dir := range []string{
		"dev/__properties__", "dev/socket", authoritiesOf(sdk), "data/local/tmp", "system/bin", "system/etc", "proc", "sys",
	} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	must(t, os.Symlink("system/etc", filepath.Join(root, "etc")))
	for _, file := range []string{"dev/null", "dev/urandom"} {
		must(t, os.WriteFile(filepath.Join(root, file), nil, 0o644))
	}
	must(t, os.Chmod(filepath.Join(root, phoneFiles), 0o777))
	copyFile(t, os.Getenv("LINKLAB_CA"), filepath.Join(root, authoritiesOf(sdk), "12345678.0"), 0o644)
	program, err := exec.LookPath("mlget")
	must(t, err)
	copyFile(t, program, filepath.Join(root, "system/bin/mlget"), 0o755)
	must(t, p.netd.Serve(android.FwmarkdPath(root), android.ResolverPath(root)))
	t.Cleanup(func() { must(t, p.netd.Close()) })
	return p
}

// runAs runs mlget as a user of the phone; filter is the API level of the
// filter of system calls, or 0.
func (p *testPhone) runAs(t *testing.T, uid, filter int, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	c := exec.CommandContext(ctx, "/proc/self/exe", append([]string{"/system/bin/mlget"}, args...)...)
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d", asUser, p.root, uid, filter))
	return finish(t, c, c)
}

// traffic is what has left this network namespace.
type traffic struct {
	packets map[string]uint64 // by link
	resets  uint64            // of TCP, by all of them
}

func sent(t *testing.T) traffic {
	t.Helper()
	now := traffic{packets: make(map[string]uint64)}
	for _, name := range []string{"wlan0", "rmnet0"} {
		l, err := netlink.LinkByName(name)
		must(t, err)
		now.packets[name] = l.Attrs().Statistics.TxPackets
	}
	text, err := os.ReadFile("/proc/self/net/snmp")
	must(t, err)
	now.resets = uint64(sumCounters(t, string(text), "OutRsts"))
	return now
}

// since is how many packets have left by each link since then, and are not strays:
// what comes for a connection that is closed the kernel answers with a reset, by
// whatever link its routes say.
func (now traffic) since(then traffic) map[string]uint64 {
	n := make(map[string]uint64)
	for name, packets := range now.packets {
		packets -= then.packets[name]
		n[name] = packets - min(packets, now.resets-then.resets)
	}
	return n
}

// quiet waits until the last run's connections are done with: what is still
// under way to them is answered by resets. It gives what sent does.
func quiet(t *testing.T) traffic {
	t.Helper()
	now := sent(t)
	waitUntil(t, "the end of the last run's connections", func() bool {
		time.Sleep(10 * rttOfPhone)
		before := now
		now = sent(t)
		return maps.Equal(before.packets, now.packets) && !openConnections(t)
	})
	return now
}

// rttOfPhone is the round trip of the slowest link.
const rttOfPhone = 30 * time.Millisecond

// openConnections says whether this network namespace has a TCP connection that
// may still send.
func openConnections(t *testing.T) bool {
	t.Helper()
	for _, file := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, err := os.ReadFile(file)
		must(t, err)
		for line := range strings.Lines(string(text)) {
			const timeWait, listening = "06", "0A"
			if f := strings.Fields(line); len(f) > 3 && f[0] != "sl" && f[3] != timeWait && f[3] != listening {
				return true
			}
		}
	}
	return false
}

// TestPhone is mlget as users of a phone get it: with netd, its rules, and the
// filter of system calls that apps are under.
func TestPhone(t *testing.T) {
	t.Parallel()
	if !manyUsers(t) {
		t.Skip("it takes root, and the user ids of apps")
	}
	for _, sdk := range []int{26, 34} {
		t.Run("API "+strconv.Itoa(sdk), func(t *testing.T) {
			t.Parallel()
			l := startLab(t, linklab.Config{Size: 8e6, TLS: true}, fastWiFi, fastLTE)
			ctx, cancel := context.WithTimeout(t.Context(), 3*hang)
			defer cancel()
			c := l.Command(ctx, "/proc/self/exe", "-test.run=^TestInsidePhone$", "-test.v")
			c.Env = append(c.Env, asPhone+"="+strconv.Itoa(sdk))
			out, err := c.CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte("--- PASS: TestInsidePhone")) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// manyUsers says whether this process may become an app's user.
func manyUsers(t *testing.T) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/self/uid_map")
	must(t, err)
	var inside, outside, count int64
	_, err = fmt.Sscan(string(text), &inside, &outside, &count)
	return err == nil && os.Getuid() == 0 && inside == 0 && count > anOffline
}

// TestInsidePhone is the part of TestPhone that is in the laboratory's network.
func TestInsidePhone(t *testing.T) {
	sdk, err := strconv.Atoi(os.Getenv(asPhone))
	if err != nil {
		t.Skip("part of TestPhone")
	}
	p := makePhone(t, sdk)
	filter := sdk
	if runtime.GOARCH != "amd64" {
		filter = 0
	}
	both, wifi, cellular := []string{"wlan0", "rmnet0"}, []string{"wlan0"}, []string{"rmnet0"}
	for name, c := range map[string]struct {
		uid   int
		links string
		used  []string // none: exit 45
		says  string   // on stderr
	}{
		"root":                       {0, "wlan0,rmnet0", both, ""},
		"root, one":                  {0, "rmnet0", cellular, ""},
		"shell, by kind":             {aShell, "wifi,cellular", both, ""},
		"shell, one":                 {aShell, "wlan0", wifi, ""},
		"shell, auto":                {aShell, "auto", wifi, "rmnet0 (cellular) is left out"},
		"root, auto":                 {0, "auto", wifi, "rmnet0 (cellular) is left out"},
		"root, all":                  {0, "all", both, ""},
		"app":                        {anApp, "wlan0,rmnet0", wifi, "rmnet0 is not used: not allowed by Android"},
		"app, whatever it may":       {anApp, "auto", wifi, ""},
		"app, cellular":              {anApp, "cellular", nil, "lacks the permission CHANGE_NETWORK_STATE"},
		"app, both or none":          {anApp, "wlan0,rmnet0 --require-all-links", nil, "rmnet0"},
		"app under a VPN":            {aSecured, "wlan0,rmnet0", nil, "a VPN is up"},
		"app without INTERNET":       {anOffline, "wlan0,rmnet0", nil, "permission denied"},
		"app that the user favours":  {aFriend, "wlan0,rmnet0", both, ""},
		"app that is favoured, auto": {aFriend, "auto", wifi, "rmnet0 (cellular) is left out"},
		"app that is favoured, all":  {aFriend, "all", both, ""},
	} {
		if c.uid == aFriend && sdk < 31 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			before := quiet(t)
			under := filter
			if c.uid < 10000 {
				under = 0 // neither root nor the shell is filtered
			}
			out := fmt.Sprintf("%s/out-%d.bin", phoneFiles, c.uid)
			args := append([]string{"--links"}, strings.Fields(c.links)...)
			args = append(args, "--json", "-o", out, "--checksum", "sha256="+os.Getenv("LINKLAB_SHA256"), os.Getenv("LINKLAB_URL_TLS"))
			r := p.runAs(t, c.uid, under, args...)
			code := 0
			if c.used == nil {
				code = 45
			}
			r.want(t, code)
			if !strings.Contains(r.stderr, c.says) {
				t.Errorf("%q is not said:\n%s", c.says, r.stderr)
			}
			moved := sent(t).since(before)
			for _, name := range both {
				if n := moved[name]; (n > 0) != slices.Contains(c.used, name) {
					t.Errorf("%d packets went out by %s", n, name)
				}
			}
			var rep report.Report
			must(t, json.Unmarshal([]byte(r.stdout), &rep))
			for _, l := range rep.Links {
				if l.Bind != "android-network" || (l.Bytes > 0) != slices.Contains(c.used, l.Name) {
					t.Errorf("%+v", l)
				}
			}
			if len(rep.Links) != len(c.used) {
				t.Errorf("links %+v, want %v", rep.Links, c.used)
			}
			if err := os.Remove(filepath.Join(p.root, out)); (err == nil) != (code == 0) {
				t.Error(err)
			}
		})
	}
	t.Run("links", func(t *testing.T) {
		r := p.runAs(t, anApp, filter, "links")
		r.want(t, 0)
		for _, want := range []string{
			"NETID", "android-network", "101", "CHANGE_NETWORK_STATE", "adb shell /data/local/tmp/mlget", "su -c",
			"adb pair localhost:PORT", "n=10123;", "settings get secure mobile_data_preferred_uids", "settings delete secure mobile_data_preferred_uids",
			"certificates: " + authoritiesOf(sdk) + " (1)", "power: none can be read",
		} {
			if !strings.Contains(r.stdout, want) {
				t.Errorf("%q is missing:\n%s", want, r.stdout)
			}
		}
	})
	t.Run("doctor", func(t *testing.T) {
		r := p.runAs(t, anApp, filter, "doctor")
		r.want(t, 0)
		for _, want := range []string{"on Android:   true", "10123", "folder:       writable", authoritiesOf(sdk), "10.1.0.0/24"} {
			if !strings.Contains(r.stdout, want) {
				t.Errorf("%q is missing:\n%s", want, r.stdout)
			}
		}
		if strings.Contains(r.stdout, "10.1.0.2") || strings.Contains(r.stdout, "10.2.0.2") {
			t.Errorf("an address is shown:\n%s", r.stdout)
		}
	})
	t.Run("without netd", func(t *testing.T) {
		must(t, p.netd.Close())
		before := quiet(t)
		r := p.runAs(t, anApp, filter, "--links", "wlan0,rmnet0", "-o", "out.bin", os.Getenv("LINKLAB_URL"))
		r.want(t, 45)
		if !strings.Contains(r.stderr, "netd cannot be reached") {
			t.Error(r.stderr)
		}
		if moved := sent(t).since(before); moved["wlan0"]+moved["rmnet0"] != 0 {
			t.Errorf("sent %v", moved)
		}
		r = p.runAs(t, 0, 0, "--links", "wlan0,rmnet0", "--json", "-o", "root.bin", os.Getenv("LINKLAB_URL"))
		r.want(t, 0)
		var rep report.Report
		must(t, json.Unmarshal([]byte(r.stdout), &rep))
		if len(rep.Links) != 2 || rep.Links[0].Bind != "device" || carriers(rep) != 2 {
			t.Errorf("%+v", rep.Links)
		}
		must(t, p.netd.Serve(android.FwmarkdPath(p.root), android.ResolverPath(p.root)))
	})
	t.Run("IPv6 only on cellular, and a name with two addresses", func(t *testing.T) {
		l, err := netlink.LinkByName("rmnet0")
		must(t, err)
		addrs, err := netlink.AddrList(l, netlink.FAMILY_V4)
		must(t, err)
		for _, a := range addrs {
			must(t, netlink.AddrDel(l, &a))
		}
		url := strings.Replace(os.Getenv("LINKLAB_URL"), "192.0.2.1", strings.TrimSuffix(phoneName, "."), 1)
		r := p.runAs(t, aShell, 0, "--links", "wifi,cellular", "--json", "-o", "named.bin", "--checksum", "sha256="+os.Getenv("LINKLAB_SHA256"), url)
		r.want(t, 0)
		var rep report.Report
		must(t, json.Unmarshal([]byte(r.stdout), &rep))
		if len(rep.Links) != 2 || carriers(rep) != 2 || rep.Links[0].RemoteAddr != "192.0.2.1:80" || rep.Links[1].RemoteAddr != "[2001:db8::1]:80" {
			t.Errorf("%+v", rep.Links)
		}
		for _, a := range p.netd.Asked() {
			if a.Resolver && a.Errno != 0 {
				t.Errorf("a query that another network answers: %+v", a)
			}
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	src, err := os.Open(from)
	must(t, err)
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err == nil {
		_, err = io.Copy(dst, src)
		err = errors.Join(err, dst.Close())
	}
	must(t, errors.Join(err, src.Close()))
}
