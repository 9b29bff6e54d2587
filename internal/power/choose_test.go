package power

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestCheck(t *testing.T) {
	for _, name := range Names() {
		if err := config(name, "/sys").Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := config(Model, "/sys").Check(); !errors.Is(err, ErrModel) {
		t.Errorf("model: %v", err)
	}
	if err := config("", "/sys").Check(); err == nil {
		t.Error("no source is one")
	}
	short := config(Auto, "/sys")
	short.Interval = MinInterval - 1
	if err := short.Check(); err == nil {
		t.Error("any interval will do")
	}
}

// TestAutoTakesTheBest: what auto takes of a tree with several sources.
func TestAutoTakesTheBest(t *testing.T) {
	const (
		status = "devices/PNP0C0A:00/power_supply/BAT0/status"
		zone   = "devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj"
		sensor = "devices/coretemp/hwmon1/power1_input"
		label  = "devices/coretemp/hwmon1/power1_label"
		rails  = "bus/iio/devices/iio:device0/energy_value"
	)
	for _, c := range []struct {
		name    string
		changes map[string]string
		want    string
	}{
		{"on battery", map[string]string{sensor: "5000000\n", label: "total\n"}, Battery},
		{"on external power", map[string]string{status: "Charging\n"}, RAPL},
		{"with some sensor", map[string]string{status: "Charging\n", sensor: "5000000\n"}, RAPL},
		{"with a sensor of all", map[string]string{status: "Charging\n", sensor: "5000000\n", label: "total\n"}, HWMon},
		{"with rails", map[string]string{rails: "CH0(T=1)[X], 5\n"}, ODPM},
		{"without packages", map[string]string{status: "Charging\n", sensor: "5000000\n", zone: "?\n"}, HWMon},
		{"with nothing else", map[string]string{status: "Charging\n", zone: "?\n"}, Battery},
	} {
		dir := unpack(t, "laptop")
		for name, text := range c.changes {
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, dir, name, text)
		}
		src, err := choose(context.Background(), config(Auto, dir))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if have := src.describe().name; have != c.want {
			t.Errorf("%s: it takes %s, want %s", c.name, have, c.want)
		}
		var findings []Finding
		synctest.Test(t, func(*testing.T) { findings = Survey(context.Background(), config(Auto, dir)) }) // which waits
		at := slices.IndexFunc(findings, func(f Finding) bool { return f.Chosen })
		if at < 0 || findings[at].Source != c.want {
			t.Errorf("%s: the survey says %+v", c.name, findings)
		}
		src.close()
	}
}

// TestSurveyOfHangingSource: it is left to itself, and the others are told of; so is it when
// the user does not want to wait.
func TestSurveyOfHangingSource(t *testing.T) {
	dir := unpack(t, "galaxy-s7")
	for _, limit := range []time.Duration{time.Hour, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			kinds := append(openers(), opener{"hung", "a hint", func(context.Context, folder, Config) (source, error) {
				<-release
				return nil, errNone
			}})
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			begun := time.Now()
			findings := survey(ctx, config(Auto, dir), kinds)
			if waited, want := time.Since(begun), min(limit, surveyPatience); waited != want {
				t.Errorf("it waited %v, want %v", waited, want)
			}
			close(release)
			if f := findings[0]; !f.Chosen || f.Watts == nil {
				t.Errorf("%+v", f)
			}
			if f := findings[len(findings)-1]; f.Source != "hung" || f.Readable || f.Problem != errHangs.Error() {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestSurvey: a counter is read twice, so that there are watts to tell.
func TestSurvey(t *testing.T) {
	dir := unpack(t, "laptop")
	synctest.Test(t, func(t *testing.T) {
		time.AfterFunc(settle/2, func() {
			write(t, dir, "devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj", "262143200000\n")
		})
		for _, f := range Survey(context.Background(), config(Auto, dir)) {
			want := map[string]float64{Battery: 8.231, RAPL: 0.2 / settle.Seconds()}[f.Source]
			switch {
			case f.Readable != (want > 0):
				t.Errorf("%+v", f)
			case f.Readable && (f.Watts == nil || math.Abs(*f.Watts-want) > 1e-9 || f.Problem != "" || f.Detail == ""):
				t.Errorf("%+v, want %v W", f, want)
			case !f.Readable && f.Problem == "":
				t.Errorf("%+v: why not?", f)
			}
		}
		for _, f := range Survey(context.Background(), config(Auto, dir)) {
			if f.Source == RAPL && (f.Watts != nil || f.Problem != errStuck.Error()) {
				t.Errorf("a counter that stands still: %+v", f)
			}
		}
	})
}
