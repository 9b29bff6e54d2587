package main_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/android"
	"github.com/mlget/mlget/internal/android/androidtest"
	"github.com/mlget/mlget/internal/linklab"
)

// writeMeasured makes TestPhoneCallers write docs/measured/android.md instead of
// comparing with it.
const writeMeasured = "MLGET_WRITE_MEASURED"

const measuredAndroid = "../../docs/measured/android.md"

const measuredHead = `# Who may use which network on a phone

For owners of a phone who want to know what mlget can do there. **Not measured on phones**: each row is what ` + "`mlget links`" + ` says in an imitation of Android, with its netd, its routing rules, its filter of system calls and its SELinux policies (of user builds). Made by

    ` + writeMeasured + `=1 go test ./cmd/mlget -run TestPhoneCallers

(root, x86_64). *app 28* is an app of targetSdk 28, Termux from F-Droid; *new app* one of the newest, Termux from Google Play. Root has no policy: what the kernel and netd allow. *preferred*: the app's user id is in mobile_data_preferred_uids (Android 12 and later). The shell is taken to have system's rights up to Android 11 and CHANGE_NETWORK_STATE later; this was read in Android 10, 13 and 16 only. The VPN takes all traffic.

| caller | Android | networks | wlan0 | rmnet0 | names by | said |
| --- | --- | --- | --- | --- | --- | --- |
`

// The networks that the phone has.
const (
	onlyWiFi  = "Wi-Fi"
	wifiLTE   = "both"
	withVPN   = "both, VPN"
	preferred = "both, preferred"
)

const (
	aNewApp = 10127
	// packagedBin is in an app's package: new apps may execute nothing else, and this
	// machine's program is none that a loader takes.
	packagedBin = "/data/app/com.termux/lib/mlget"
)

// releases are Android's, with their API levels.
func releases() []struct {
	android string
	sdk     int
} {
	return []struct {
		android string
		sdk     int
	}{{"8.1", 27}, {"9", 28}, {"11", 30}, {"13", 33}, {"15", 35}}
}

// TestPhoneCallers runs mlget links as each kind of caller, on each release, with
// each set of networks, and holds what it says against what Android allows
// (NetworkController::checkUserNetworkAccess; policies).
func TestPhoneCallers(t *testing.T) {
	t.Parallel()
	if !manyUsers(t) {
		t.Skip("it takes root, and the user ids of apps")
	}
	var table strings.Builder
	table.WriteString(measuredHead)
	for _, r := range releases() {
		l := startLab(t, linklab.Config{Size: 1e3, TLS: true}, fastWiFi, fastLTE)
		ctx, cancel := context.WithTimeout(t.Context(), 6*hang)
		defer cancel()
		c := l.Command(ctx, "/proc/self/exe", "-test.run=^TestInsidePhoneCallers$", "-test.v")
		c.Env = append(c.Env, fmt.Sprint(asPhone, "=", r.sdk), asCallers+"="+r.android)
		out, err := c.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("--- PASS: TestInsidePhoneCallers")) {
			t.Errorf("Android %s: %v\n%s", r.android, err, out)
		}
		for line := range strings.Lines(string(out)) {
			if row, ok := strings.CutPrefix(line, asCallers+" "); ok {
				table.WriteString(row)
			}
		}
	}
	if os.Getenv(writeMeasured) != "" {
		must(t, os.MkdirAll(filepath.Dir(measuredAndroid), 0o755))
		must(t, os.WriteFile(measuredAndroid, []byte(table.String()), 0o644))
		return
	}
	text, err := os.ReadFile(measuredAndroid)
	must(t, err)
	if string(text) != table.String() {
		t.Errorf("%s is not what comes of it (%s=1 writes it):\n%s", measuredAndroid, writeMeasured, table.String())
	}
}

// asCallers begins the rows that the part of TestPhoneCallers in the phone prints,
// and tells it the release.
const asCallers = "MLGET_TEST_PHONE_CALLERS"

// caller is one of the table's.
type caller struct {
	name string
	phoneCaller
}

func callersOn(release string) []caller {
	old := "untrusted_app_27"
	if release == "8.1" {
		old = "untrusted_app"
	}
	return []caller{
		{"app 28", phoneCaller{uid: anApp, domain: old, program: termuxBin, dir: termuxHome}},
		{"new app", phoneCaller{uid: aNewApp, domain: "untrusted_app", program: packagedBin, dir: termuxHome}},
		{"shell", phoneCaller{uid: aShell, domain: "shell", program: shellBin, dir: phoneFiles}},
		{"root", phoneCaller{uid: 0, program: shellBin, dir: phoneFiles}},
	}
}

// may is what Android allows.
type may struct{ wifi, cellular, pastVPN bool }

// allowed says what a caller may use, as LINKS of Android's source have it: apps have
// no permission, and under a VPN nothing else; whoever has the system's passes all.
func allowed(name, networks string, sdk int) may {
	system := name == "root" || name == "shell" && sdk < 31
	switch {
	case networks == withVPN:
		return may{system, system, system}
	case networks == onlyWiFi:
		return may{wifi: true}
	case networks == preferred && sdk >= 31, name == "root", name == "shell":
		return may{wifi: true, cellular: true}
	}
	return may{wifi: true}
}

func TestInsidePhoneCallers(t *testing.T) {
	release, inside := os.LookupEnv(asCallers)
	if !inside {
		t.Skip("part of TestPhoneCallers")
	}
	var sdk int
	if _, err := fmt.Sscan(os.Getenv(asPhone), &sdk); err != nil {
		t.Fatal(err)
	}
	p := makePhone(t, sdk)
	for _, file := range []string{termuxBin, packagedBin, shellBin} {
		must(t, os.MkdirAll(filepath.Join(p.root, filepath.Dir(file)), 0o755))
		copyFile(t, filepath.Join(p.root, "system/bin/mlget"), filepath.Join(p.root, file), 0o755)
	}
	for _, dir := range []string{termuxHome, phoneFiles} {
		must(t, os.MkdirAll(filepath.Join(p.root, dir), 0o755))
		must(t, os.Chmod(filepath.Join(p.root, dir), 0o777))
	}
	must(t, p.netd.Close())
	for _, networks := range []string{wifiLTE, withVPN, preferred, onlyWiFi} {
		netd := p.have(t, sdk, networks)
		for _, c := range callersOn(release) {
			row := p.row(t, c, sdk, release, networks)
			_, err := fmt.Fprintln(os.Stdout, asCallers, row)
			must(t, err)
		}
		must(t, netd.Close())
		for _, path := range []string{android.FwmarkdPath(p.root), android.ResolverPath(p.root)} {
			must(t, os.RemoveAll(path))
		}
	}
}

// have gives the phone a set of networks, and their netd.
func (p *testPhone) have(t *testing.T, sdk int, networks string) *androidtest.Netd {
	t.Helper()
	everyone := []uint32{0, aShell, anApp, aNewApp}
	netd := &androidtest.Netd{
		SDK: sdk, Group: androidtest.Inet,
		Networks: []androidtest.Network{
			{NetID: 100, Names: map[string]netip.Addr{phoneName: netip.MustParseAddr("192.0.2.1")}},
			{NetID: 101, Permission: android.PermissionNetwork, Names: map[string]netip.Addr{phoneName: netip.MustParseAddr("2001:db8::1")}},
		},
	}
	if sdk >= 31 {
		netd.Users = map[uint32]android.Permission{aShell: android.PermissionNetwork}
	}
	switch {
	case networks == preferred && sdk >= 31:
		netd.Networks[1].Users = []uint32{anApp, aNewApp}
	case networks == withVPN:
		tun := &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Name: "tun0"}, Mode: unix.IFF_TUN}
		must(t, netlink.LinkAdd(tun))
		l, err := netlink.LinkByName("tun0")
		must(t, err)
		addr, err := netlink.ParseAddr("10.111.0.2/24")
		must(t, err)
		must(t, netlink.AddrAdd(l, addr))
		must(t, netlink.LinkSetUp(l))
		netd.VPN, netd.VPNID, netd.Secured = "tun0", 102, everyone
	case networks == onlyWiFi:
		l, err := netlink.LinkByName("rmnet0")
		must(t, err)
		must(t, netlink.LinkSetDown(l))
		netd.Networks = netd.Networks[:1]
	}
	if l, err := netlink.LinkByName("tun0"); err == nil && networks != withVPN {
		must(t, netlink.LinkDel(l))
	}
	interfaces := []androidtest.Interface{{Name: "wlan0", Network: netd.Networks[0]}}
	if len(netd.Networks) > 1 {
		interfaces = append(interfaces, androidtest.Interface{Name: "rmnet0", Network: netd.Networks[1]})
	}
	must(t, androidtest.Shape(netd, interfaces))
	must(t, netd.Serve(android.FwmarkdPath(p.root), android.ResolverPath(p.root)))
	return netd
}

// linkRow is what mlget links --json says of a link, as far as the table has it.
type linkRow struct {
	Name      string `json:"name"`
	Bind      string `json:"bind"`
	PastVPN   string `json:"past_vpn"`
	Resolvers []struct {
		Method string `json:"method"`
	} `json:"resolvers"`
	Problems []struct {
		What     string `json:"what"`
		Severity string `json:"severity"`
	} `json:"problems"`
}

// row runs mlget links as a caller and makes its row of the table.
func (p *testPhone) row(t *testing.T, c caller, sdk int, release, networks string) string {
	t.Helper()
	words := []string{c.program, "links", "--json"}
	var r result
	if c.domain == "" {
		r = p.runAs(t, c.uid, 0, words[1:]...)
	} else {
		policy, ok := androidtest.PolicyOf(androidtest.Domain{Android: release, Name: c.domain})
		if !ok {
			t.Fatalf("the table does not know %s of %s", c.domain, release)
		}
		filter := sdk
		if c.uid < 10000 {
			filter = 0
		}
		r = p.confined(t, policy, c.phoneCaller, filter, words, false)
	}
	r.want(t, 0)
	var links []linkRow
	must(t, json.Unmarshal([]byte(r.stdout), &links))
	what := func(name string) linkRow {
		at := slices.IndexFunc(links, func(l linkRow) bool { return l.Name == name })
		if at < 0 {
			return linkRow{Name: name, Bind: "absent"} // apps learn of what has an address only
		}
		return links[at]
	}
	wlan0, rmnet0 := what("wlan0"), what("rmnet0")
	var said, resolvers []string
	cell := func(l linkRow) string {
		fatal := slices.ContainsFunc(l.Problems, func(p struct {
			What     string `json:"what"`
			Severity string `json:"severity"`
		},
		) bool {
			return p.Severity == "fatal"
		})
		for _, p := range l.Problems {
			if text := l.Name + ": " + p.What; (p.Severity == "fatal" || l.PastVPN != "") && !slices.Contains(said, text) {
				said = append(said, text)
			}
		}
		if fatal {
			return "-"
		}
		for _, r := range l.Resolvers {
			if !slices.Contains(resolvers, r.Method) {
				resolvers = append(resolvers, r.Method)
			}
		}
		return cmp.Or(l.Bind, "-")
	}
	bound := []string{cell(wlan0), cell(rmnet0)}
	want := allowed(c.name, networks, sdk)
	for k, yes := range []bool{want.wifi, want.cellular} {
		if (bound[k] == "android-network") != yes {
			t.Errorf("%s, Android %s, %s: %v, want %+v\n%s", c.name, release, networks, bound, want, r.stdout)
		}
	}
	if past := wlan0.PastVPN == "tun0"; past != want.pastVPN {
		t.Errorf("%s, Android %s, %s: past a VPN %v, want %v", c.name, release, networks, past, want.pastVPN)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |", c.name, release, networks, bound[0], bound[1],
		cmp.Or(strings.Join(resolvers, ", "), "-"), cmp.Or(strings.Join(said, "; "), "-"))
}
