package get

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/plan"
)

// noPlan is a link of which no plan is kept.
type noPlan struct{}

func (noPlan) Traffic() int64       { return 0 }
func (noPlan) Allow(_, _ int64)     {}
func (noPlan) Low() <-chan struct{} { return nil }

// TestRosterKeepsHours: in a bubble, whose clock begins at midnight UTC. A link leaves when its
// hours are over, one that was not there joins when they begin, and the clock is seen to within
// a second.
func TestRosterKeepsHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options("wlan0", "rmnet0")
		o.linkSpecs = []string{"rmnet0,window=00:00-07:00", "wlan0,window=06:00-06:30"}
		home := wifi("wlan0", 3, "10.1.0.2/24")
		a := follow(t, o, lte)
		a.become([]link.Info{lte, home})
		a.want(6*time.Hour-time.Second, []string(nil)...)
		a.want(2*time.Second, "wlan0 joins, 0, 0")
		a.want(30*time.Minute, "wlan0 renewed, moved true")
		a.want(30*time.Minute-3*time.Second, []string(nil)...)
		a.want(3*time.Second, "rmnet0 renewed, moved true")
		a.want(17*time.Hour-2*time.Second, []string(nil)...)
		a.want(2*time.Second, "rmnet0 renewed, moved false")
		a.want(6*time.Hour, "wlan0 renewed, moved false")
		said := strings.Join(a.said, "\n")
		for _, text := range []string{
			"link rmnet0 is not used any more: its hours, 00:00-07:00, are over", "link rmnet0 is used again: its hours, 00:00-07:00, have begun",
			"link wlan0 is not used any more: its hours, 06:00-06:30, are over",
		} {
			if strings.Count(said, text) != 1 {
				t.Errorf("%q is not said once in\n%s", text, said)
			}
		}
	})
}

// TestRosterLeavesABarredLinkAlone: what happens to its interface does not bring it back.
func TestRosterLeavesABarredLinkAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options("wlan0", "rmnet0")
		o.linkSpecs = []string{"cellular,window=23:00-01:00"}
		lte := lte
		lte.Tech = link.TechLTE
		home := wifi("wlan0", 3, "10.1.0.2/24")
		a := follow(t, o, lte, home)
		a.want(time.Hour+time.Second, "rmnet0 renewed, moved true")
		moved := lte
		moved.Index = 77
		a.become([]link.Info{moved, home}, gone(link.ChangeLink, "rmnet0"), change(link.ChangeLink, "rmnet0"))
		a.want(time.Hour, "rmnet0 returned")
		a.want(21*time.Hour, "rmnet0 renewed, moved true") // it is another device now
	})
}

// TestPlansRefuse: what is said of links that are not to be used.
func TestPlansRefuse(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("LOCALAPPDATA", "")
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	refuse := func(t *testing.T, specs ...string) string {
		t.Helper()
		o := &Options{linkSpecs: specs}
		read, err := o.specs()
		if err != nil {
			t.Fatal(err)
		}
		p := newPlans(t.Context(), read, func(_ bool, text string) { t.Error(text) })
		if p.zone = time.UTC; p.book != nil {
			if p.book, err = plan.Open(p.zone); err != nil {
				t.Fatal(err)
			}
		}
		infos := []link.Info{{Name: "rmnet0", Tech: link.TechLTE, Bind: link.BindDevice}, {Name: "wlan0", Tech: link.TechWiFi, Bind: link.BindDevice}}
		names := p.refuse(infos)
		_, rejected, _ := link.Choose(infos, []string{"rmnet0", "wlan0"})
		if len(rejected) != len(names) {
			t.Errorf("%q are refused, %+v rejected", names, rejected)
		}
		var why []string
		for _, r := range rejected {
			why = append(why, r.Name+": "+r.Why)
		}
		return strings.Join(why, "\n")
	}
	if got := refuse(t, "rmnet0,cap=1M/month", "wlan0,cap=1M"); got != "" {
		t.Error(got)
	}
	spend := func(name string, n int64) {
		book, err := plan.Open(time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := book.Renew(name, plan.Plan{Bytes: 1 << 20, Period: plan.Monthly, From: 1}, &plan.Lease{Rest: -n}, 0); err != nil {
			t.Fatal(err)
		}
	}
	spend("cellular", 1<<20)
	if got := refuse(t, "rmnet0,cap=1M/month"); got != "" {
		t.Error(got)
	}
	synctest.Test(t, func(t *testing.T) { // the year 2000
		spend("cellular", 1<<20)
		if got := refuse(t, "cellular,cap=1M/month@17"); got != "rmnet0: nothing is left of its data plan, 1.0 MiB a month from day 17 on, until 2000-01-17" {
			t.Error(got)
		}
		if got := refuse(t, "wifi,window=00:01-00:00"); got != "wlan0: it is outside of its hours, 00:01-00:00 (it is 00:00)" {
			t.Error(got)
		}
	})
	if got := refuse(t, "wifi,cap=1M/month"); got != "" {
		t.Error(got)
	}
	name := filepath.Join(state, "mlget", "plans.json")
	if err := os.WriteFile(name, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := refuse(t, "wifi,cap=1M/month"); !strings.HasPrefix(got, "wlan0: the use of data plans ("+name+"): it is damaged") {
		t.Error(got)
	}
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	if got := refuse(t, "wifi,cap=1M/month"); !strings.Contains(got, "XDG_STATE_HOME=DIR names one") {
		t.Error(got)
	}
}
