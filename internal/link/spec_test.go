package link

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/plan"
	"github.com/mlget/mlget/internal/term"
)

func TestParseSpec(t *testing.T) {
	for text, want := range map[string]Spec{
		"wlan0":   {Name: "wlan0"},
		"Wi-Fi 2": {Name: "Wi-Fi 2"},
		"wlan0,rate=2M,cap=200MB,tech=lte,bandwidth=10M,dns=9.9.9.9,role=backup": {
			Name: "wlan0", Rate: 2 << 20, Cap: 200e6, Tech: TechLTE, Bandwidth: 10 << 20,
			DNS: netip.MustParseAddrPort("9.9.9.9:53"), Role: RoleBackup,
		},
		"a,dns=9.9.9.9:5353":         {Name: "a", DNS: netip.MustParseAddrPort("9.9.9.9:5353")},
		"a,dns=::1":                  {Name: "a", DNS: netip.MustParseAddrPort("[::1]:53")},
		"a,dns=[2001:db8::1]":        {Name: "a", DNS: netip.MustParseAddrPort("[2001:db8::1]:53")},
		"a,dns=[fe80::1%wlan0]:5353": {Name: "a", DNS: netip.MustParseAddrPort("[fe80::1%wlan0]:5353")},
		"a,dns=::ffff:9.9.9.9":       {Name: "a", DNS: netip.MustParseAddrPort("9.9.9.9:53")},
		"a,tech=3g":                  {Name: "a", Tech: Tech3G},
		"a,cap=50G/month@17,window=23:30-07:00": {
			Name: "a", Plan: plan.Plan{Bytes: 50 << 30, Period: plan.Monthly, From: 17}, Window: plan.Window{From: 23*60 + 30, To: 7 * 60},
		},
		"eth0,via=192.0.2.1":        {Name: "eth0", Via: netip.MustParseAddr("192.0.2.1")},
		"eth0,via=::ffff:192.0.2.1": {Name: "eth0", Via: netip.MustParseAddr("192.0.2.1")},
		"eth0,via=fe80::1":          {Name: "eth0", Via: netip.MustParseAddr("fe80::1")},
		"a,role=primary,tech=nr":    {Name: "a", Role: RolePrimary, Tech: TechNR},
	} {
		got, err := ParseSpec(text)
		if err != nil || got != want {
			t.Errorf("ParseSpec(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", ",rate=1", "wlan0,", "wlan0,rate", "wlan0,rate=", "wlan0,rate=0", "wlan0,rate=x",
		"wlan0,rate=1,rate=2", "wlan0,colour=red", "wlan0,tech=5g", "wlan0,tech=", "wlan0,role=",
		"wlan0,cap=99999999999G", "wlan0,dns=example.org", "wlan0,dns=9.9.9.9:0", "wlan0,dns=0.0.0.0",
		"wlan0,dns=224.0.0.1", "wlan0,dns=", "a\x1b[2J", "a/b", "rate=5", "a\xff", "a,rate=1,,cap=1",
		"a,via=", "a,via=router", "a,via=192.0.2.1:80", "a,via=0.0.0.0", "a,via=127.0.0.1", "a,via=ff02::1", "a,via=fe80::1%eth0",
		"wifi,via=192.0.2.1", "a,via=192.0.2.1,proxy=http://192.0.2.9",
		"a,cap=1G/year", "a,cap=0/day", "a,cap=1G/month@32", "a,cap=1G/month,cap=1G", "a,window=", "a,window=07:00", "a,window=07:00-07:00",
		strings.Repeat("a", 300), "a,tech=" + strings.Repeat("a", 2000),
	} {
		if got, err := ParseSpec(text); !errors.Is(err, ErrSpec) {
			t.Errorf("ParseSpec(%.40q) = %+v, %v, want ErrSpec", text, got, err)
		}
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, seed := range []string{
		"wlan0", "wlan0,rate=2M,cap=200M,tech=lte,bandwidth=10M,dns=9.9.9.9:53,role=backup",
		"a,dns=[fe80::1%wlan0]:5353", "a,cap=50G/month@17,window=23:30-07:00", "a,,", "=,", "a,dns=]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := ParseSpec(text)
		if err != nil {
			if !errors.Is(err, ErrSpec) || spec != (Spec{}) {
				t.Fatalf("ParseSpec(%q) = %+v, %v", text, spec, err)
			}
			return
		}
		if spec.Name == "" || spec.Rate < 0 || spec.Cap < 0 || spec.Bandwidth < 0 ||
			spec.Plan.Bytes < 0 || spec.Plan.Bytes > 0 && spec.Cap > 0 || spec.DNS.IsValid() && spec.DNS.Port() == 0 || term.Printable(spec.Name) != spec.Name && !strings.ContainsAny(spec.Name, `"\`) {
			t.Fatalf("ParseSpec(%q) = %+v", text, spec)
		}
	})
}
