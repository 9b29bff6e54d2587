package get

import (
	"testing"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/link"
)

func TestTermsOf(t *testing.T) {
	for _, c := range []struct {
		name, spec     string
		backup, costly bool
		limit          int64
		wakes          bool // its radio costs something to wake
	}{
		{"wlan0", "wlan0", false, false, 0, true},
		{"rmnet0", "rmnet0,cap=200M,role=backup", true, true, 200 << 20, true},
		{"rmnet0", "rmnet0,role=primary", false, false, 0, true},
		{"rmnet0", "rmnet0", false, true, 0, true},
		{"wlan0", "wlan0,tech=nr", false, true, 0, true},
		{"wlan0", "wlan0,tech=3g", false, true, 0, true},
		{"eth0", "eth0,role=backup", true, true, 0, false},
		{"x0", "x0,cap=1", false, false, 1, false},
	} {
		spec, err := link.ParseSpec(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		info := link.Info{Name: c.name, Tech: link.TechOf(c.name)}
		got := termsOf(link.New(info, spec, link.Options{}), energy.Models{})
		if got.Backup != c.backup || got.Costly != c.costly || got.Cap != c.limit || (got.Radio.TailMJ > 0) != c.wakes {
			t.Errorf("%s: %+v", c.spec, got)
		}
	}
}
