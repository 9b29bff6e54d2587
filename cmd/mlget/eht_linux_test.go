package main_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/dataset"
	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/internal/soaktest"
)

// setting is a phone's link, and what is downloaded over it.
type setting struct {
	link   string
	buffer int64  // largest receive buffer of a connection
	files  string // for EHT, whose search takes time
	size   int64  // of one file, for each number of connections
}

// lab has the setting's link, and a battery that looks ten times a second.
func (s setting) lab(t *testing.T, c linklab.Config) *lab {
	t.Helper()
	c.ReceiveBuffer, c.Battery.Every = s.buffer, 100*time.Millisecond
	return startLab(t, c, s.link)
}

// ehtLab serves the files.
func (s setting) ehtLab(t *testing.T) *lab {
	t.Helper()
	files, err := dataset.Parse(s.files)
	if err != nil {
		t.Fatal(err)
	}
	return s.lab(t, linklab.Config{Files: &files})
}

// fetchAll downloads all files of a lab, and gives the report.
func (l *lab) fetchAll(t *testing.T, args ...string) report.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*hang)
	defer cancel()
	c := l.command(ctx, append([]string{"-q", "--report", "report.json", "-P", "out"}, args...)...)
	for _, v := range c.Env {
		if list, ok := strings.CutPrefix(v, "LINKLAB_LIST="); ok {
			c.Args = append(c.Args, "-i", list)
		}
	}
	res := finish(t, c, c.Cmd)
	res.want(t, 0)
	if err := os.RemoveAll(filepath.Join(l.dir, "out")); err != nil {
		t.Error(err)
	}
	return readReport(t, filepath.Join(l.dir, "report.json"))
}

// efficiency is the Mbit/s per joule of one file over so many connections that are never
// out of requests, by the laboratory's own account of the radio's energy until the end.
func (s setting) efficiency(t *testing.T, connections int) float64 {
	t.Helper()
	l := s.lab(t, linklab.Config{Size: s.size})
	meter := l.StartEnergy()
	r := l.fetch(t, l.URL(), "-p", strconv.Itoa(connections), "--power", "none")
	meter.End()
	total := meter.Energy(linklab.UntilIdle).Total
	return r.ThroughputMbps / (total.Dynamic - total.After)
}

// byBattery are the flags by which mlget measures the lab's battery, and knows nothing of
// its radios.
func (l *lab) byBattery() []string {
	return []string{"--power", "battery", "--sysfs", l.Sysfs(), "--power-interval", "100ms", "--power-baseline", "1s"}
}

// settled is the number of connections that EHT has come to, and by whose word.
func settled(t *testing.T, r report.Report) (n int, last report.Tuning) {
	t.Helper()
	if len(r.Tuning) == 0 {
		t.Fatal("nothing was tuned")
	}
	last = r.Tuning[len(r.Tuning)-1]
	return last.Plan.Connections(), last
}

// Two radios with opposite costs of a connection lead EHT to different numbers of them,
// whether their models are told or their power is measured.
func TestEHTFollowsWhatConnectionsCost(t *testing.T) {
	t.Parallel()
	// Six sevenths of it are what one connection brings, by its window and the trip. Of so
	// long a trip the milliseconds are a small part by which a busy machine is late.
	const link = "wlan0,down=3.1,rtt=200,"
	for _, how := range []string{power, "model"} {
		for radio, few := range map[string]bool{"power=wifi-s7-mean,perconn=2000": true, "power=lte,perconn=1": false} {
			t.Run(how+", "+radio, func(t *testing.T) {
				t.Parallel()
				s := setting{link: link + radio, buffer: 120_000, files: "image/22"}
				l := s.ehtLab(t)
				args := []string{"--mode", "eht", "--energy-model", l.EnergyModel(), "--power", "none"}
				if how == power {
					args = append([]string{"--mode", "eht"}, l.byBattery()...)
				}
				r := l.fetchAll(t, args...)
				n, last := settled(t, r)
				t.Logf("%d connections: %s (%g W, %s)", n, last.Why, last.Watts, last.WattsSource)
				if last.WattsSource != how || last.Watts <= 0 || (n == 1) != few {
					t.Errorf("%d connections: %+v", n, last)
				}
			})
		}
	}
}

// ehtSettings are links on which the best number of connections differs: by the window of a
// connection, the trip, what a connection costs, and what the radio does besides.
func ehtSettings() []setting {
	return []setting{
		{"wlan0,down=20,rtt=80,power=wifi-s7-mean,perconn=62", 160_000, "image/200", 25e6},
		{"wlan0,down=16,rtt=60,power=wifi,perconn=2000", 120_000, "image/150", 20e6},
		{"wlan0,down=24,rtt=120,power=lte,perconn=30", 200_000, "image/200", 35e6},
		{"wlan0,down=20,rtt=40,power=wifi-s7-mean,perconn=200", 80_000, "image/150", 25e6},
		{"wlan0,down=12,rtt=150,power=nr,perconn=62", 160_000, "image/120", 20e6},
		{"wlan0,down=20,rtt=80,power=wifi,perconn=400", 300_000, "image/150", 25e6},
		{"wlan0,down=16,rtt=100,power=lte-s7-mean,perconn=10", 100_000, "image/150", 20e6},
		{"wlan0,down=30,rtt=60,power=wifi-s7-mean,perconn=100", 200_000, "image/200", 40e6},
		{"wlan0,down=20,rtt=80,power=lte-2021,perconn=120", 160_000, "video/8", 25e6},
		{"wlan0,down=16,rtt=200,power=wifi-s7-mean,perconn=62", 250_000, "html/700", 25e6},
	}
}

// mostSwept is how many connections are swept.
const mostSwept = 8

// found is what a setting comes to.
type found struct {
	chosen int // by EHT
	last   report.Tuning
	ratios [mostSwept + 1]float64 // Mbit/s per joule with so many connections
}

// near says whether the chosen number is within 5 % of the best ratio.
func (f *found) near(t *testing.T, s setting) bool {
	t.Helper()
	best, own := slices.Max(f.ratios[:]), 0.0
	if f.chosen <= mostSwept {
		own = f.ratios[f.chosen]
	}
	t.Logf("%s, buffers of %d: %d connections (%s), %.3f of the best, with %d: %.3g",
		s.link, s.buffer, f.chosen, f.last.Why, own/best, slices.Index(f.ratios[:], best), f.ratios[1:])
	return own >= 0.95*best
}

// EHT goes by the battery, and nothing tells it of the radios. Where it settles has to be
// within 5 % of the best ratio of all numbers of connections, each on a job of its own, in 8
// of 10 settings: make soak, as a busy machine's links give other ratios. Otherwise one setting
// shows that it settles; the simulator compares (TestStudyFiles).
func TestEHTSettlesNearTheBest(t *testing.T) {
	t.Parallel()
	linklab.SkipIfUnsupported(t)
	all, swept := ehtSettings(), 0
	if soaktest.All() {
		swept = mostSwept
	} else {
		all = all[:1]
	}
	results := make([]found, len(all))
	t.Run("runs", func(t *testing.T) {
		for i, s := range all {
			t.Run(s.link+", eht", func(t *testing.T) {
				t.Parallel()
				l := s.ehtLab(t)
				r := l.fetchAll(t, append([]string{"--mode", "eht"}, l.byBattery()...)...)
				for _, step := range r.Tuning {
					t.Logf("%.1f s: %s", step.AtSeconds, step.Why)
				}
				if results[i].chosen, results[i].last = settled(t, r); results[i].last.WattsSource != power {
					t.Errorf("%+v", results[i].last)
				}
			})
			for n := 1; n <= swept; n++ {
				t.Run(fmt.Sprintf("%s, %d connections", s.link, n), func(t *testing.T) {
					t.Parallel()
					results[i].ratios[n] = s.efficiency(t, n)
				})
			}
		}
	})
	if swept == 0 {
		return
	}
	within := 0
	for i, s := range all {
		if results[i].near(t, s) {
			within++
		}
	}
	if 10*within < 8*len(all) {
		t.Errorf("within 5 %% of the best in %d of %d", within, len(all))
	}
}

// power is the source of the power that is measured in these tests.
const power = "battery"
