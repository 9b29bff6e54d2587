package main_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mlget/mlget/internal/android/androidtest"
	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/report"
)

// asCommands tells a part of a test that it is in a phone's network.
const asCommands = "MLGET_TEST_PHONE_COMMANDS"

// TestPhoneCommands runs the commands beside a download, and a download's flags that
// touch other files, as users of a phone, under its filter of system calls and its
// policy: whatever those refuse and the program does not expect fails the test, and
// so does a packet over a metered link that nobody has named.
func TestPhoneCommands(t *testing.T) {
	t.Parallel()
	if !manyUsers(t) {
		t.Skip("it takes root, and the user ids of apps")
	}
	onPhones(t, "TestInsidePhoneCommands", fastWiFi, fastLTE)
}

// onPhones runs a part of a test in the network of a phone, on several releases.
func onPhones(t *testing.T, part string, links ...string) {
	t.Helper()
	for _, sdk := range []int{26, 30, 35} {
		t.Run(fmt.Sprint("API ", sdk), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, "body.bin"), phoneBody(), 0o644))
			l := startLab(t, linklab.Config{Dir: dir, TLS: true}, links...)
			ctx, cancel := context.WithTimeout(t.Context(), 6*hang)
			defer cancel()
			c := l.Command(ctx, "/proc/self/exe", "-test.run=^"+part+"$", "-test.v")
			c.Env = append(c.Env, fmt.Sprint(asPhone, "=", sdk), asCommands+"="+part)
			out, err := c.CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte("--- PASS: "+part)) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// phoneBody is the file that TestPhoneCommands downloads.
func phoneBody() []byte { return bytes.Repeat([]byte("sixteen bytes...\n"), 100e3) }

// bodyURL is where it is in the laboratory.
func bodyURL() string { return strings.TrimSuffix(os.Getenv("LINKLAB_URL"), "/") + "/body.bin" }

func TestInsidePhoneCommands(t *testing.T) {
	if os.Getenv(asCommands) != t.Name() {
		t.Skip("part of TestPhoneCommands")
	}
	p, sdk := equipPhone(t)
	for name, c := range callersOf(sdk) {
		if c.linker {
			continue // this machine's is no program that a loader takes
		}
		t.Run(name, func(t *testing.T) {
			u := p.user(t, c, sdk)
			before := quiet(t)
			t.Run("commands", u.commands)
			t.Run("proxy", u.proxy)
			t.Run("daemon", u.daemon)
			if n := sent(t).since(before)["rmnet0"]; n > 0 {
				t.Errorf("%d packets went out by rmnet0", n)
			}
		})
	}
}

// TestPhoneUnderVPN: an app that Android lets use a VPN and nothing else downloads over
// it as every other program does, and over nothing else.
func TestPhoneUnderVPN(t *testing.T) {
	t.Parallel()
	if !manyUsers(t) {
		t.Skip("it takes root, and the user ids of apps")
	}
	onPhones(t, "TestInsidePhoneUnderVPN", fastWiFi, fastLTE, "tun0,down=100,rtt=20")
}

func TestInsidePhoneUnderVPN(t *testing.T) {
	if os.Getenv(asCommands) != t.Name() {
		t.Skip("part of TestPhoneUnderVPN")
	}
	p, sdk := equipPhone(t)
	c := callersOf(sdk)["Termux, F-Droid"]
	c.uid = aSecured
	u := p.user(t, c, sdk)
	before := quiet(t)
	for _, links := range []string{"auto", "tun0", "all"} {
		r := u.run(t, "--links", links, "--json", "-o", "under-"+links, bodyURL())
		r.want(t, 0)
		var rep report.Report
		must(t, json.Unmarshal([]byte(r.stdout), &rep))
		if len(rep.Links) != 1 || rep.Links[0].Name != "tun0" || rep.Links[0].Bind != "android-network" {
			t.Errorf("--links %s: %+v", links, rep.Links)
		}
		if !bytes.Equal(u.file(t, "under-"+links), phoneBody()) {
			t.Errorf("--links %s: the file is not what the server has", links)
		}
	}
	u.run(t, "--links", "wlan0", bodyURL()).want(t, 45, "a VPN is up")
	if n := sent(t).since(before); n["wlan0"]+n["rmnet0"] > 0 {
		t.Errorf("packets went out past the VPN: %v", n)
	}
}

// equipPhone makes a phone with the program where its users have it.
func equipPhone(t *testing.T) (p *testPhone, sdk int) {
	t.Helper()
	if _, err := fmt.Sscan(os.Getenv(asPhone), &sdk); err != nil {
		t.Fatal(err)
	}
	p = makePhone(t, sdk)
	for _, dir := range []string{termuxHome, phoneFiles, filepath.Dir(termuxBin), "/data/data/com.termux/files/usr/tmp"} {
		must(t, os.MkdirAll(filepath.Join(p.root, dir), 0o755))
		must(t, os.Chmod(filepath.Join(p.root, dir), 0o777))
	}
	for _, file := range []string{termuxBin, shellBin} {
		copyFile(t, filepath.Join(p.root, "system/bin/mlget"), filepath.Join(p.root, file), 0o755)
	}
	return p, sdk
}

// user is a caller as somebody who types commands.
func (p *testPhone) user(t *testing.T, c phoneCaller, sdk int) phoneUser {
	t.Helper()
	policy, ok := androidtest.PolicyOf(androidtest.Domain{Android: androidOf(sdk), Name: c.domain})
	if !ok {
		t.Fatalf("the table does not know %s of %s", c.domain, androidOf(sdk))
	}
	u := phoneUser{p, c, policy, sdk}
	if c.uid < 10000 {
		u.filter = 0
	}
	return u
}

// phoneUser is somebody who types commands on the phone.
type phoneUser struct {
	phone  *testPhone
	caller phoneCaller
	policy androidtest.Policy
	filter int
}

func (u phoneUser) words(args []string) []string {
	return append([]string{u.caller.program}, args...)
}

func (u phoneUser) run(t *testing.T, args ...string) result {
	t.Helper()
	return u.phone.confined(t, u.policy, u.caller, u.filter, u.words(args), false)
}

// file is the content of one in the user's folder.
func (u phoneUser) file(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(u.phone.root, u.caller.dir, name))
	must(t, err)
	return b
}

func (u phoneUser) commands(t *testing.T) {
	sum := fmt.Sprintf("sha256=%x", sha256.Sum256(phoneBody()))
	page := bodyURL()
	for _, args := range [][]string{
		{"version", "--json"},
		{"man"},
		{"completion", "bash"},
		{"power"},
		{"power", "--json"},
		{"links", "--json"},
		{"doctor"},
		{"--checksum", sum, "-o", "a", "--save-cookies", "jar", "--record", "r.jsonl", "--report", "r.json", "--metrics-textfile", "m.prom", page},
		{"--load-cookies", "jar", "-N", "-o", "a", page},
		{"--link", "wifi,cap=50M", "--checksum", sum, "-o", "b", page},
		{"--metrics-listen", "127.0.0.1:0", "--checksum", sum, "-o", "c", page},
		{"-o", "-", page},
		{"--power-baseline", "1s", "-o", "d", page},
		{"-I", page},
		{"--spider", page},
		{"report", "r.json"},
		{"simulate"},
		{"bench", "run", "--help"},
		{"--install-aria2c", "."},
	} {
		u.run(t, args...).want(t, 0)
	}
	// Plans are kept at home, by the phone's days; routes by a gateway take another system.
	const home = "there is no home directory to keep it in: XDG_STATE_HOME=DIR names one"
	r := u.run(t, "--link", "wifi,cap=50M/month@17", "-o", "f", page)
	if u.caller.uid == aShell {
		r.want(t, 45, home)
	} else {
		r.want(t, 0)
		u.file(t, ".local/state/mlget/plans.json")
	}
	u.run(t, "--link", "wlan0,via=10.1.0.1", "-o", "g", page).want(t, 45, "sockets cannot be bound to a device here")
	address := u.interfaceAddress(t, "wlan0")
	c := u.caller
	c.program = c.dir + "/aria2c"
	// Termux's package, and yt-dlp, call it so.
	u.phone.confined(t, u.policy, c, u.filter, []string{c.program, "--interface", address, "-o", "e", page}, false).want(t, 0)
}

// interfaceAddress is the IPv4 address of one of the phone's interfaces.
func (u phoneUser) interfaceAddress(t *testing.T, name string) string {
	t.Helper()
	i, err := net.InterfaceByName(name)
	must(t, err)
	addrs, err := i.Addrs()
	must(t, err)
	return addrs[0].(*net.IPNet).IP.String()
}

// start begins a command that does not end by itself; stop ends it.
func (u phoneUser) start(t *testing.T, args ...string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	run := u.phone.start(ctx, t, u.policy, u.caller, u.filter, u.words(args))
	return func() {
		t.Helper()
		must(t, run.cmd.Process.Signal(syscall.SIGTERM))
		r := run.wait(t)
		cancel()
		run.check(t, r, false)
		if r.code != 0 && r.code != 130 {
			t.Errorf("%v: exit %d\n%s", args, r.code, r.stderr)
		}
	}
}

// proxy has another program's download go through the proxy.
func (u phoneUser) proxy(t *testing.T) {
	const at = "127.0.0.1:8118"
	stop := u.start(t, "proxy", "--listen", at)
	defer stop()
	proxied := http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: at}), DisableKeepAlives: true,
	}}
	var body []byte
	waitUntil(t, "the proxy", func() bool {
		r, err := proxied.Get(bodyURL())
		if err != nil {
			return false
		}
		body, err = io.ReadAll(r.Body)
		return r.Body.Close() == nil && err == nil
	})
	if !bytes.Equal(body, phoneBody()) {
		t.Errorf("%d bytes came through the proxy, want %d", len(body), len(phoneBody()))
	}
}

// daemon has the daemon download a file, as its commands ask it to.
func (u phoneUser) daemon(t *testing.T) {
	args, rpc := []string{"daemon"}, []string(nil)
	if u.caller.uid == aShell { // whose home is /, and who may make no sockets
		u.run(t, "daemon").want(t, 3, "XDG_STATE_HOME=DIR names another place")
		u.run(t, "status").want(t, 4, "mlget daemon starts one")
		args, rpc = []string{"daemon", "--session", "queue"}, []string{"--rpc", "127.0.0.1:6800"}
	}
	stop := u.start(t, args...)
	defer stop()
	do := func(args ...string) result { t.Helper(); return u.run(t, append(args, rpc...)...) }
	waitUntil(t, "the daemon", func() bool { return do("status").code == 0 })
	r := do("add", "--paused", "-o", "added", bodyURL())
	r.want(t, 0)
	gid := strings.TrimSpace(r.stdout)
	do("resume", gid).want(t, 0)
	waitUntil(t, "the download", func() bool {
		_, err := os.Stat(filepath.Join(u.phone.root, u.caller.dir, "added"))
		return err == nil
	})
	do("pause", "--all").want(t, 0)
	do("status").want(t, 0)
	if !bytes.Equal(u.file(t, "added"), phoneBody()) {
		t.Error("the daemon's file is not what the server has")
	}
}
