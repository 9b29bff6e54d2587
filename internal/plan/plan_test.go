package plan

import (
	"testing"
	"time"

	_ "time/tzdata" // the tests' zones, wherever they run

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	for text, want := range map[string]Plan{
		"50G/month":     {50 << 30, Monthly, 1},
		"50GB/month":    {50e9, Monthly, 1},
		"50G/month@1":   {50 << 30, Monthly, 1},
		"1.5G/month@17": {3 << 29, Monthly, 17},
		"50G/month@31":  {50 << 30, Monthly, 31},
		"200M/day":      {200 << 20, Daily, 0},
		"5G/week":       {5 << 30, Weekly, 0},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "/", "50G", "50G/", "50G/year", "0/month", "/month", "-1/day", "50G/month@", "50G/month@0", "50G/month@32", "50G/month@-1",
		"50G/month@+1", "50G/month@001", "50G/month@x", "50G/day@1", "50G/week@1", "50G/month/day", "99999999999G/month", "50G/Month",
	} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// TestPeriods: the days are written out from a calendar.
func TestPeriods(t *testing.T) {
	for _, c := range []struct {
		plan                string
		today, since, until Day
	}{
		{"1/day", "2026-11-29", "2026-11-29", "2026-11-30"},
		{"1/day", "2026-12-31", "2026-12-31", "2027-01-01"},
		{"1/week", "2026-11-29", "2026-11-23", "2026-11-30"}, // a Sunday
		{"1/week", "2026-11-30", "2026-11-30", "2026-12-07"}, // a Monday
		{"1/week", "2027-01-02", "2026-12-28", "2027-01-04"},
		{"1/month", "2026-11-29", "2026-11-01", "2026-12-01"},
		{"1/month", "2026-12-01", "2026-12-01", "2027-01-01"},
		{"1/month@17", "2026-11-16", "2026-10-17", "2026-11-17"},
		{"1/month@17", "2026-11-17", "2026-11-17", "2026-12-17"},
		{"1/month@17", "2026-12-31", "2026-12-17", "2027-01-17"},
		{"1/month@17", "2027-01-01", "2026-12-17", "2027-01-17"},
		{"1/month@31", "2026-11-29", "2026-10-31", "2026-11-30"},
		{"1/month@31", "2026-11-30", "2026-11-30", "2026-12-31"},
		{"1/month@31", "2026-12-30", "2026-11-30", "2026-12-31"},
		{"1/month@31", "2027-02-27", "2027-01-31", "2027-02-28"},
		{"1/month@31", "2027-02-28", "2027-02-28", "2027-03-31"},
		{"1/month@31", "2027-03-30", "2027-02-28", "2027-03-31"},
		{"1/month@29", "2028-02-29", "2028-02-29", "2028-03-29"}, // a leap year
		{"1/month@30", "2028-02-29", "2028-02-29", "2028-03-30"},
		{"1/month@29", "2027-02-28", "2027-02-28", "2027-03-29"},
		{"1/month@29", "2027-03-01", "2027-02-28", "2027-03-29"},
		{"1/month@30", "2026-01-29", "2025-12-30", "2026-01-30"},
		{"1/day", "9999-12-31", "9999-12-31", "9999-12-31"},
	} {
		p, err := Parse(c.plan)
		if err != nil {
			t.Fatal(err)
		}
		if since, until := p.Since(c.today), p.Until(c.today); since != c.since || until != c.until {
			t.Errorf("%s on %s: from %s until %s, want %s until %s", c.plan, c.today, since, until, c.since, c.until)
		}
	}
}

func TestParseWindow(t *testing.T) {
	for text, want := range map[string]Window{
		"00:00-07:00": {0, 420}, "23:30-07:00": {1410, 420}, "7:05-24:00": {425, 1440}, "23:59-00:00": {1439, 0}, "00:00-24:00": {0, 1440},
	} {
		got, err := ParseWindow(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if again, err := ParseWindow(got.String()); err != nil || again != got {
			t.Errorf("%s is read as %+v, %v", got, again, err)
		}
	}
	for _, text := range []string{"", "-", "7", "00:00", "00:00-", "-07:00", "07:00-07:00", "24:00-07:00", "00:00-25:00", "00:60-07:00", "00:00-07:00-08:00", "00:00:00-07:00", "a-b"} {
		if got, err := ParseWindow(text); err == nil {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// TestWindowGoesByTheClockOnTheWall, on the days on which it is set as well: in Berlin
// from 2:00 to 3:00 on 29 March 2026, and back from 3:00 to 2:00 on 25 October.
func TestWindowGoesByTheClockOnTheWall(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		window, utc string
		open        bool
	}{
		{"00:00-07:00", "2026-11-28T22:59:59Z", false},
		{"00:00-07:00", "2026-11-28T23:00:00Z", true},
		{"00:00-07:00", "2026-11-29T05:59:59Z", true},
		{"00:00-07:00", "2026-11-29T06:00:00Z", false},
		{"00:00-07:00", "2026-07-01T05:00:00Z", false}, // in summer
		{"22:30-06:15", "2026-11-29T21:29:59Z", false},
		{"22:30-06:15", "2026-11-29T21:30:00Z", true},
		{"22:30-06:15", "2026-11-30T05:14:59Z", true},
		{"22:30-06:15", "2026-11-30T05:15:00Z", false},
		{"02:15-02:45", "2026-03-29T00:59:59Z", false}, // 1:59:59
		{"02:15-02:45", "2026-03-29T01:00:00Z", false}, // 3:00
		{"02:15-02:45", "2026-03-29T01:20:00Z", false},
		{"01:30-03:30", "2026-03-29T01:20:00Z", true}, // 3:20
		{"02:15-02:45", "2026-10-25T00:20:00Z", true},
		{"02:15-02:45", "2026-10-25T00:50:00Z", false},
		{"02:15-02:45", "2026-10-25T01:20:00Z", true}, // once more
		{"02:15-02:45", "2026-10-25T02:20:00Z", false},
		{"00:00-24:00", "2026-10-25T02:20:00Z", true},
	} {
		w, err := ParseWindow(c.window)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, c.utc)
		if err != nil {
			t.Fatal(err)
		}
		if w.Open(at.In(berlin)) != c.open {
			t.Errorf("%s at %s (%s): open %v", c.window, c.utc, at.In(berlin).Format("15:04:05"), !c.open)
		}
	}
	if !(Window{}).Open(time.Now()) {
		t.Error("no window is closed")
	}
}

func FuzzParse(f *testing.F) {
	f.Add("50G/month@17", "00:00-07:00", "2026-11-29")
	f.Add("1/week", "7:00-24:00", "9999-12-31")
	f.Fuzz(func(t *testing.T, planned, hours, day string) {
		p, err := Parse(planned)
		if err != nil && p != (Plan{}) || err == nil && !p.valid() {
			t.Errorf("%q: %+v, %v", planned, p, err)
		}
		if d, bad := ParseDay(day); bad == nil && err == nil && p.valid() {
			since, until := p.Since(d), p.Until(d)
			first, last := d < "0001-02-01", until == "9999-12-31" // the calendar's own ends
			if since > d || until <= d && !last || !first && p.Since(since) != since || !last && p.Since(until) != until {
				t.Errorf("%+v on %s: from %s until %s", p, d, since, until)
			}
		}
		w, err := ParseWindow(hours)
		if again, bad := ParseWindow(w.String()); err == nil && (bad != nil || again != w) {
			t.Errorf("%q: %+v is read as %+v, %v", hours, w, again, bad)
		}
	})
}
