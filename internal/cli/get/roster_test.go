package get

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/link"
)

// air is what interfaces there are, and what a roster made of it.
type air struct {
	t       *testing.T
	roster  *roster
	changes chan link.Change

	mu    sync.Mutex
	infos []link.Info
	err   error
	looks []time.Time
	did   []string // to the links
	said  []string // to people
}

func (a *air) List(context.Context) ([]link.Info, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looks = append(a.looks, time.Now())
	return slices.Clone(a.infos), a.err
}

// note keeps what happened to a link.
func (a *air) note(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.did = append(a.did, fmt.Sprintf(format, args...))
}

type fakeSeat struct {
	noPlan
	air  *air
	name string
}

func (s *fakeSeat) Join(n engine.Network, terms engine.Terms) {
	s.name = n.Name()
	s.air.note("%s joins, %.0f, %d", s.name, terms.Bandwidth, terms.Rate)
}

func (s *fakeSeat) Renew(n engine.Network, moved bool) {
	s.air.note("%s renewed, moved %v", n.Name(), moved)
}
func (s *fakeSeat) Gone()     {}
func (s *fakeSeat) Returned() { s.air.note("%s returned", s.name) }

// wifi is a link with an address and a route.
func wifi(name string, index int, addr string) link.Info {
	return link.Info{
		Name: name, Index: index, Up: true, Carrier: true, Default4: true, Bind: link.BindDevice,
		Addrs: []netip.Prefix{netip.MustParsePrefix(addr)},
	}
}

// without is a link that lacks something: the more severe, the more.
func without(i link.Info, s link.Severity) link.Info {
	i.Default4 = false
	i.Problems = []link.Problem{{What: "it lacks something", Severity: s}}
	return i
}

// follow starts a roster, in a synctest bubble, with the links that the options
// find at the start.
func follow(t *testing.T, o *Options, infos ...link.Info) *air {
	t.Helper()
	a := &air{t: t, changes: make(chan link.Change), infos: infos}
	usable, _, err := link.Choose(infos, o.links)
	if err != nil {
		t.Fatal(err)
	}
	specs, err := o.specs()
	if err != nil {
		t.Fatal(err)
	}
	var begun []chosen
	bus := new(event.Bus)
	a.roster = &roster{
		options: o, system: a, bus: bus, started: time.Now(),
		warn: func(important bool, text string) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.said = append(a.said, fmt.Sprintf("%v %s", important, text))
		},
	}
	a.roster.plans = newPlans(t.Context(), specs, a.roster.warn)
	a.roster.plans.zone = time.UTC
	for _, info := range usable {
		l := o.link(info, specs, "")
		begun = append(begun, chosen{net: l, found: info, info: eventInfo(l)})
		a.roster.seats = append(a.roster.seats, &fakeSeat{air: a, name: info.Name})
	}
	a.roster.members = members(begun)
	for range o.spares(begun, specs) {
		a.roster.seats = append(a.roster.seats, &fakeSeat{air: a})
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { a.roster.follow(ctx, a.changes) })
	t.Cleanup(func() {
		cancel()
		wg.Wait()
		bus.Close()
	})
	return a
}

// become sets what interfaces there are and tells of changes.
func (a *air) become(infos []link.Info, changes ...link.Change) {
	a.mu.Lock()
	a.infos = infos
	a.mu.Unlock()
	for _, c := range changes {
		a.changes <- c
	}
}

// want demands what has happened to links since last time.
func (a *air) want(after time.Duration, did ...string) {
	a.t.Helper()
	time.Sleep(after)
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(a.did, did) {
		a.t.Errorf("happened: %q, want %q", a.did, did)
	}
	a.did = nil
}

var lte = wifi("rmnet0", 2, "10.2.0.2/24") //nolint:gochecknoglobals // a constant

func options(links ...string) *Options { return &Options{links: links} }

func change(kind link.ChangeKind, name string) link.Change {
	return link.Change{Kind: kind, Name: name}
}

func gone(kind link.ChangeKind, name string) link.Change {
	return link.Change{Kind: kind, Name: name, Gone: true}
}

// A link comes as DHCP makes it come: device, address, route.
func TestRosterWaitsForAllOfALink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options("wlan0", "rmnet0")
		o.linkSpecs = []string{"wlan0,rate=2M,bandwidth=5M"}
		a := follow(t, o, lte)
		whole := wifi("wlan0", 3, "10.1.0.2/24")
		a.become([]link.Info{lte, without(whole, link.Fatal)}, change(link.ChangeLink, "wlan0"))
		a.want(700 * time.Millisecond)
		a.become([]link.Info{lte, without(whole, link.Warning)}, change(link.ChangeAddress, "wlan0"))
		a.want(700 * time.Millisecond)
		a.become([]link.Info{lte, whole}, change(link.ChangeRoute, "wlan0"))
		a.want(settleTime, "wlan0 joins, 5242880, 2097152")
		if !reflect.DeepEqual(a.said, []string{"true link wlan0 has joined"}) {
			t.Errorf("said %q", a.said)
		}
		a.want(time.Hour)
		if n := len(a.looks); n > 4 {
			t.Errorf("looked %d times", n)
		}
	})
}

// A link that may not work joins when nothing more is heard of it, if it was named.
func TestRosterAdmitsANamedLinkWithAWarning(t *testing.T) {
	for name, links := range map[string][]string{"wlan0": {"wlan0", "rmnet0"}, "": nil} {
		synctest.Test(t, func(t *testing.T) {
			a := follow(t, options(links...), lte)
			a.become([]link.Info{lte, without(wifi("wlan0", 3, "10.1.0.2/24"), link.Warning)}, change(link.ChangeAddress, "wlan0"))
			a.want(quietTime - time.Millisecond)
			var want []string
			if name != "" {
				want = []string{"wlan0 joins, 0, 0"}
			}
			a.want(time.Minute, want...)
		})
	}
}

func TestRosterAdmitsLinksThatAutoWouldChoose(t *testing.T) {
	named := wifi("wlan0", 3, "10.1.0.2/24")
	other := wifi("eth1", 4, "10.3.0.2/24")
	bridge := wifi("br0", 5, "10.4.0.2/24")
	bridge.Virtual = link.VirtualBridge
	vpn := wifi("tun0", 6, "10.5.0.2/24")
	vpn.Virtual = link.VirtualVPN
	all := []link.Info{lte, named, other, bridge, vpn}
	for _, tc := range []struct {
		links []string
		want  []string
	}{
		{nil, []string{"wlan0 joins, 0, 0", "eth1 joins, 0, 0"}},
		{[]string{"auto"}, []string{"wlan0 joins, 0, 0", "eth1 joins, 0, 0"}},
		{[]string{"rmnet0"}, nil},
		{[]string{"rmnet0", "wlan0", "wlan0"}, []string{"wlan0 joins, 0, 0"}},
		{[]string{"rmnet0", "tun0"}, []string{"tun0 joins, 0, 0"}},
		{[]string{"tun0", "auto"}, []string{"tun0 joins, 0, 0", "wlan0 joins, 0, 0", "eth1 joins, 0, 0"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := follow(t, options(tc.links...), lte)
			a.become(all, change(link.ChangeUnknown, ""))
			a.want(time.Minute, append([]string{"rmnet0 returned"}, tc.want...)...)
		})
	}
}

// With auto there are seats for some, and no more.
func TestRosterIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := follow(t, options(), lte)
		all := []link.Info{lte}
		for i := range spareForAuto + 3 {
			all = append(all, wifi(fmt.Sprint("eth", i), 10+i, fmt.Sprintf("10.9.%d.2/24", i)))
		}
		a.become(all, change(link.ChangeLink, "eth0"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(a.did) != spareForAuto || len(a.said) != spareForAuto+1 {
			t.Errorf("%q, said %q", a.did, a.said)
		}
	})
}

func TestRosterRenews(t *testing.T) {
	home := wifi("wlan0", 3, "10.1.0.2/24")
	more := home
	more.Addrs = append(slices.Clone(home.Addrs), netip.MustParsePrefix("2001:db8::2/64"))
	abroad := wifi("wlan0", 3, "192.168.7.9/24")
	replugged := wifi("wlan0", 9, "10.1.0.2/24")
	for _, tc := range []struct {
		name    string
		to      link.Info
		changes []link.Change
		want    []string
	}{
		{"nothing is new", home, []link.Change{change(link.ChangeAddress, "wlan0")}, []string{"wlan0 returned"}},
		{"one address more", more, []link.Change{change(link.ChangeAddress, "wlan0")}, []string{"wlan0 returned", "wlan0 renewed, moved false"}},
		{"its route was away", home, []link.Change{gone(link.ChangeRoute, "wlan0"), change(link.ChangeRoute, "wlan0")}, []string{"wlan0 returned", "wlan0 renewed, moved false"}},
		{"another network", abroad, []link.Change{gone(link.ChangeAddress, "wlan0"), change(link.ChangeAddress, "wlan0")}, []string{"wlan0 returned", "wlan0 renewed, moved true"}},
		{"another device", replugged, []link.Change{gone(link.ChangeLink, "wlan0"), change(link.ChangeLink, "wlan0")}, []string{"wlan0 returned", "wlan0 renewed, moved true"}},
		{"no longer usable", without(home, link.Fatal), []link.Change{gone(link.ChangeAddress, "wlan0")}, nil},
		{"somebody else's", home, []link.Change{change(link.ChangeAddress, "docker0"), gone(link.ChangeLink, "eth7")}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := follow(t, options("wlan0", "rmnet0"), lte, home)
				a.become([]link.Info{lte, tc.to}, tc.changes...)
				a.want(time.Minute, tc.want...)
			})
		})
	}
}

// Name servers are written down without a word from the kernel.
func TestRosterChecksAgainAfterAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := wifi("wlan0", 3, "10.1.0.2/24")
		a := follow(t, options("wlan0", "rmnet0"), lte)
		a.become([]link.Info{lte, home}, change(link.ChangeRoute, "wlan0"))
		a.want(settleTime, "wlan0 joins, 0, 0")
		home.Resolvers = []link.Resolver{{Method: link.ResolverResolvConf, Servers: []netip.AddrPort{netip.MustParseAddrPort("10.1.0.1:53")}}}
		a.become([]link.Info{lte, home})
		a.want(time.Minute, "wlan0 renewed, moved false")
	})
}

// An interface that flaps without end is looked at now and then, not each time.
func TestRosterDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		home := wifi("wlan0", 3, "10.1.0.2/24")
		a := follow(t, options("wlan0", "rmnet0"), lte, home)
		begin := time.Now()
		for i := range 10000 { // 10 s
			h := home
			h.Index += i
			a.become([]link.Info{lte, h}, gone(link.ChangeLink, "wlan0"), change(link.ChangeLink, "wlan0"))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		most := int(10*time.Second/lookPause) + 3
		if n := len(a.looks); n > most || n < 5 {
			t.Errorf("%d looks in %v", n, time.Since(begin))
		}
		for i := 1; i < len(a.looks)-1; i++ {
			if d := a.looks[i].Sub(a.looks[i-1]); d < lookPause {
				t.Errorf("%v between two looks", d)
			}
		}
	})
}

// Where the system tells nothing, the roster looks for itself.
func TestRosterWithoutWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := follow(t, options("wlan0", "rmnet0"), lte)
		close(a.changes)
		a.mu.Lock()
		a.err = errors.New("for a while not even that")
		a.mu.Unlock()
		a.become([]link.Info{lte, wifi("wlan0", 3, "10.1.0.2/24")})
		a.want(time.Minute)
		a.mu.Lock()
		a.err = nil
		a.mu.Unlock()
		a.want(quietTime, "wlan0 joins, 0, 0")
		a.become([]link.Info{lte})
		a.want(time.Minute)
		a.become([]link.Info{lte, wifi("wlan0", 4, "10.1.0.7/24")})
		a.want(time.Minute, "wlan0 renewed, moved true")
	})
}

// metered is a link whose data may cost money, by its kind or by --link.
func metered(i link.Info, tech link.Tech) link.Info {
	i.Tech = tech
	return link.Apply([]link.Info{i}, nil)[0]
}

// A download that was given no metered link does not go on over one, whatever becomes of the
// others.
func TestRosterAdmitsNoUnnamedMeteredLink(t *testing.T) {
	home, modem := wifi("wlan0", 3, "10.1.0.2/24"), metered(lte, link.TechLTE)
	joins := []string{"wlan0 returned", "rmnet0 joins, 0, 0"}
	for _, tc := range []struct {
		links []string
		want  []string
	}{
		{nil, []string{"wlan0 returned"}},
		{[]string{"auto"}, []string{"wlan0 returned"}},
		{[]string{"all"}, joins},
		{[]string{"auto", "cellular"}, joins},
		{[]string{"wlan0", "rmnet0"}, joins},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := options(tc.links...)
			a := follow(t, o, home)
			a.become([]link.Info{without(home, link.Fatal), modem}, change(link.ChangeUnknown, ""))
			a.want(time.Minute, tc.want...)
		})
	}
}

// A metered link that was the only one at the start goes on.
func TestRosterKeepsTheOnlyLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		modem := metered(lte, link.TechLTE)
		a := follow(t, options("auto"), modem)
		a.become([]link.Info{without(modem, link.Fatal)}, gone(link.ChangeAddress, "rmnet0"))
		a.want(time.Minute)
		a.become([]link.Info{modem}, change(link.ChangeAddress, "rmnet0"))
		a.want(time.Minute, "rmnet0 returned", "rmnet0 renewed, moved false")
	})
}

// A link that becomes metered, as when a laptop goes over to a phone's Wi-Fi,
// carries nothing from then on, until it is free again.
func TestRosterBarsALinkThatBecomesMetered(t *testing.T) {
	for _, tc := range []struct {
		links  []string
		barred bool
	}{
		{nil, true}, {[]string{"all"}, false}, {[]string{"wlan0"}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			home, hotspot := wifi("wlan0", 3, "10.1.0.2/24"), metered(wifi("wlan0", 3, "10.1.0.2/24"), link.TechLTE)
			home.Tech = link.TechWiFi
			o := options(tc.links...)
			a := follow(t, o, home)
			a.become([]link.Info{hotspot}, change(link.ChangeRoute, "wlan0"))
			if !tc.barred {
				time.Sleep(time.Minute)
				synctest.Wait()
				if slices.ContainsFunc(a.said, func(s string) bool { return strings.Contains(s, "cost money") }) {
					t.Errorf("%v: %q", tc.links, a.said)
				}
				return
			}
			a.want(time.Minute, "wlan0 returned", "wlan0 renewed, moved true")
			if len(a.said) != 1 || !strings.Contains(a.said[0], "link wlan0 is not used any more: data over it may cost money now (cellular)") {
				t.Errorf("said %q", a.said)
			}
			a.become([]link.Info{home}, change(link.ChangeRoute, "wlan0"))
			a.want(time.Minute, "wlan0 returned", "wlan0 renewed, moved false")
		})
	}
}
