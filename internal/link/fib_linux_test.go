package link

import (
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// The rules that every Linux machine begins with.
func usualRules() []ruleMsg {
	var rules []ruleMsg
	for i, table := range []uint32{unix.RT_TABLE_LOCAL, unix.RT_TABLE_MAIN, unix.RT_TABLE_DEFAULT} {
		r := ruleTo(table)
		r.priority = []uint32{0, 32766, 32767}[i]
		rules = append(rules, r)
	}
	return rules
}

func ruleTo(table uint32) ruleMsg {
	return ruleMsg{
		family: unix.AF_INET, action: unix.FR_ACT_TO_TBL, table: table, priority: 100,
		uids: [2]uint32{0, 1<<32 - 1}, suppress: -1,
	}
}

func defaultVia(table, metric uint32, devs ...int) routeMsg {
	return routeMsg{family: unix.AF_INET, kind: unix.RTN_UNICAST, table: table, metric: metric, devs: devs}
}

func TestFibLookup(t *testing.T) {
	const a, b, main = 3, 4, unix.RT_TABLE_MAIN
	addrB := netip.MustParseAddr("10.2.0.2")
	with := func(r ruleMsg, change func(*ruleMsg)) ruleMsg {
		change(&r)
		return r
	}
	fromB := with(ruleTo(102), func(r *ruleMsg) { r.src = netip.PrefixFrom(addrB, 32) })
	half := func(r routeMsg) routeMsg { r.dstLen = 1; return r }
	kind := func(r routeMsg, k byte) routeMsg { r.kind = k; r.devs = nil; return r }
	two := []routeMsg{defaultVia(main, 600, b), defaultVia(main, 100, a)}

	for name, c := range map[string]struct {
		rules  []ruleMsg
		routes []routeMsg
		src    netip.Addr
		oif    int
		want   []int
	}{
		"lower metric wins":           {nil, two, netip.Addr{}, 0, []int{a}},
		"bound to A":                  {nil, two, netip.Addr{}, a, []int{a}},
		"bound to B":                  {nil, two, netip.Addr{}, b, []int{b}},
		"B has no route":              {nil, two[1:], netip.Addr{}, b, nil},
		"B's source leads to A":       {nil, two, addrB, 0, []int{a}},
		"rule for B's source":         {[]ruleMsg{fromB}, append(two, defaultVia(102, 0, b)), addrB, 0, []int{b}},
		"rule needs the source":       {[]ruleMsg{fromB}, []routeMsg{two[1], defaultVia(102, 0, b)}, netip.Addr{}, b, nil},
		"rule with source and device": {[]ruleMsg{fromB}, []routeMsg{two[1], defaultVia(102, 0, b)}, addrB, b, []int{b}},
		"empty table: next rule":      {[]ruleMsg{fromB}, two, addrB, 0, []int{a}},
		"several next hops":           {nil, []routeMsg{defaultVia(main, 0, a, b)}, netip.Addr{}, b, []int{a, b}},
		"VPN's two halves":            {nil, append(two, half(defaultVia(main, 0, 9))), netip.Addr{}, 0, []int{9}},
		"VPN's two halves, bound":     {nil, append(two, half(defaultVia(main, 0, 9))), netip.Addr{}, a, []int{a}},
		"wg-quick": {
			[]ruleMsg{
				with(ruleTo(main), func(r *ruleMsg) { r.priority, r.suppress = 10, 0 }),
				with(ruleTo(51820), func(r *ruleMsg) { r.priority, r.mark, r.mask, r.invert = 20, 51820, 1<<32-1, true }),
			},
			append(two, defaultVia(51820, 0, 9)),
			netip.Addr{},
			0,
			[]int{9},
		},
		"wg-quick, bound": {
			[]ruleMsg{
				with(ruleTo(main), func(r *ruleMsg) { r.priority, r.suppress = 10, 0 }),
				with(ruleTo(51820), func(r *ruleMsg) { r.priority, r.mark, r.mask, r.invert = 20, 51820, 1<<32-1, true }),
			},
			append(two, defaultVia(51820, 0, 9)),
			netip.Addr{},
			b,
			[]int{b},
		},
		"marked sockets only":   {[]ruleMsg{with(ruleTo(102), func(r *ruleMsg) { r.mark, r.mask = 1, 255 })}, append(two, defaultVia(102, 0, b)), netip.Addr{}, 0, []int{a}},
		"other users only":      {[]ruleMsg{with(ruleTo(102), func(r *ruleMsg) { r.uids = [2]uint32{0, 999} })}, append(two, defaultVia(102, 0, b)), netip.Addr{}, 0, []int{a}},
		"this user":             {[]ruleMsg{with(ruleTo(102), func(r *ruleMsg) { r.uids = [2]uint32{1000, 1000} })}, append(two, defaultVia(102, 0, b)), netip.Addr{}, 0, []int{b}},
		"forwarded only":        {[]ruleMsg{with(ruleTo(102), func(r *ruleMsg) { r.iif = "eth7" })}, append(two, defaultVia(102, 0, b)), netip.Addr{}, 0, []int{a}},
		"by device":             {[]ruleMsg{with(ruleTo(102), func(r *ruleMsg) { r.oif = "link" })}, []routeMsg{two[1], defaultVia(102, 0, b)}, netip.Addr{}, b, []int{b}},
		"by device, unbound":    {[]ruleMsg{with(ruleTo(102), func(r *ruleMsg) { r.oif = "link" })}, []routeMsg{two[1], defaultVia(102, 0, b)}, netip.Addr{}, 0, []int{a}},
		"undecidable":           {[]ruleMsg{with(ruleTo(102), func(r *ruleMsg) { r.other = true })}, append(two, defaultVia(102, 0, b)), netip.Addr{}, 0, []int{a}},
		"undecidable, inverted": {[]ruleMsg{with(ruleTo(102), func(r *ruleMsg) { r.other, r.invert = true, true })}, append(two, defaultVia(102, 0, b)), netip.Addr{}, 0, []int{a}},
		"forbidden":             {[]ruleMsg{with(ruleTo(0), func(r *ruleMsg) { r.action = unix.FR_ACT_PROHIBIT })}, two, netip.Addr{}, 0, nil},
		"unreachable":           {nil, append(two, kind(defaultVia(main, 0), unix.RTN_UNREACHABLE)), netip.Addr{}, 0, nil},
		"throw":                 {[]ruleMsg{ruleTo(102)}, append(two, kind(defaultVia(102, 0), unix.RTN_THROW)), netip.Addr{}, 0, []int{a}},
		"other family":          {nil, []routeMsg{{family: unix.AF_INET6, kind: unix.RTN_UNICAST, table: main, devs: []int{a}}}, netip.Addr{}, 0, nil},
		"not a default route":   {nil, []routeMsg{{family: unix.AF_INET, kind: unix.RTN_UNICAST, table: main, dstLen: 8, devs: []int{a}}}, netip.Addr{}, 0, nil},
	} {
		f := newFib(append(usualRules(), c.rules...), c.routes, 1000)
		if got := f.lookup(flow{family: unix.AF_INET, src: c.src, oif: c.oif, name: "link"}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestHighestMetric is that of a default route of the family that leads somewhere.
func TestHighestMetric(t *testing.T) {
	const main = unix.RT_TABLE_MAIN
	six, blackhole := defaultVia(main, 900, 3), defaultVia(main, 800, 3)
	six.family = unix.AF_INET6
	blackhole.kind = unix.RTN_BLACKHOLE
	f := fib{routes: []routeMsg{defaultVia(main, 100, 3), six, defaultVia(main, 600, 4), blackhole, defaultVia(main, 700)}}
	for family, want := range map[byte]uint32{unix.AF_INET: 600, unix.AF_INET6: 900} {
		if got := f.maxMetric(family); got != want {
			t.Errorf("family %d: %d, want %d", family, got, want)
		}
	}
}
