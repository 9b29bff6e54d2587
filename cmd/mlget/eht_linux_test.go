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
	"github.com/mlget/mlget/internal/linklab/battery"
	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/internal/soaktest"
)

// setting is a phone's link and a set of files on which EHT has to find the best ratio.
type setting struct {
	link   string
	buffer int64  // largest receive buffer of a connection
	set    string // of files, for each number of connections
	long   string // for EHT, whose search takes time
}

func (s setting) String() string {
	return fmt.Sprintf("%s, buffers of %d, %s", s.link, s.buffer, s.set)
}

// lab serves one of the setting's sets over its link, with a battery that looks ten times
// a second.
func (s setting) lab(t *testing.T, set string) *lab {
	t.Helper()
	files, err := dataset.Parse(set)
	if err != nil {
		t.Fatal(err)
	}
	return startLab(t, linklab.Config{
		Files: &files, ReceiveBuffer: s.buffer, Battery: battery.Config{Every: 100 * time.Millisecond},
	}, s.link)
}

// fetchAll downloads all files of a lab, and says what came of it: the report, and Mbit/s
// per joule of a job of 100 MB, by the laboratory's own account of the radios' energy.
func (l *lab) fetchAll(t *testing.T, args ...string) (r report.Report, ratio float64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*hang)
	defer cancel()
	meter := l.StartEnergy()
	c := l.command(ctx, append([]string{"-q", "--report", "report.json", "-P", "out"}, args...)...)
	for _, v := range c.Env {
		if list, ok := strings.CutPrefix(v, "LINKLAB_LIST="); ok {
			c.Args = append(c.Args, "-i", list)
		}
	}
	res := finish(t, c, c.Cmd)
	meter.End()
	res.want(t, 0)
	joules := meter.Energy(linklab.UntilIdle).Total.Dynamic
	r = readReport(t, filepath.Join(l.dir, "report.json"))
	bytes := int64(0)
	for _, f := range r.Files {
		bytes += f.SizeBytes
	}
	if err := os.RemoveAll(filepath.Join(l.dir, "out")); err != nil {
		t.Error(err)
	}
	return r, r.ThroughputMbps / (joules / float64(bytes) * 1e8)
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
	const link = "wlan0,down=9,rtt=60," // six sevenths of it are what one connection brings
	for _, how := range []string{power, "model"} {
		for radio, few := range map[string]bool{"power=wifi-s7-mean,perconn=2000": true, "power=lte,perconn=1": false} {
			t.Run(how+", "+radio, func(t *testing.T) {
				t.Parallel()
				s := setting{link: link + radio, buffer: 120_000, long: "image/60"}
				l := s.lab(t, s.long)
				args := []string{"--mode", "eht", "--energy-model", l.EnergyModel(), "--power", "none"}
				if how == power {
					args = append([]string{"--mode", "eht"}, l.byBattery()...)
				}
				r, _ := l.fetchAll(t, args...)
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
		{"wlan0,down=20,rtt=80,power=wifi-s7-mean,perconn=62", 160_000, "image/30", "image/200"},
		{"wlan0,down=16,rtt=60,power=wifi,perconn=2000", 120_000, "image/20", "image/150"},
		{"wlan0,down=24,rtt=120,power=lte,perconn=30", 200_000, "image/40", "image/200"},
		{"wlan0,down=20,rtt=40,power=wifi-s7-mean,perconn=200", 80_000, "image/30", "image/150"},
		{"wlan0,down=12,rtt=150,power=nr,perconn=62", 160_000, "image/20", "image/120"},
		{"wlan0,down=20,rtt=80,power=wifi,perconn=400", 300_000, "image/30", "image/150"},
		{"wlan0,down=16,rtt=100,power=lte-s7-mean,perconn=10", 100_000, "image/30", "image/150"},
		{"wlan0,down=30,rtt=60,power=wifi-s7-mean,perconn=100", 200_000, "image/50", "image/250"},
		{"wlan0,down=20,rtt=80,power=lte-2021,perconn=120", 160_000, "video/2", "video/8"},
		{"wlan0,down=16,rtt=200,power=wifi-s7-mean,perconn=62", 250_000, "image/30", "image/150"},
	}
}

// EHT goes by the battery, and nothing tells it of the radios. Where it settles has to be
// within 5 % of the best ratio of all numbers of connections, each on a job of its own, in 8
// of 10 settings; a short run does fewer.
func TestEHTSettlesNearTheBest(t *testing.T) {
	t.Parallel()
	linklab.SkipIfUnsupported(t)
	all := ehtSettings()
	all = all[:soaktest.Cases(1, 3, len(all))]
	within := 0
	for _, s := range all {
		if s.settlesNearTheBest(t) {
			within++
		}
	}
	if 10*within < 8*len(all) {
		t.Errorf("within 5 %% of the best in %d of %d", within, len(all))
	}
}

// ehtSweep are the numbers of connections that are swept.
func ehtSweep() []int { return []int{1, 2, 3, 4, 5, 6, 7, 8, 10, 12} }

// settlesNearTheBest runs EHT, and then every number of connections.
func (s setting) settlesNearTheBest(t *testing.T) bool {
	t.Helper()
	l := s.lab(t, s.long)
	r, _ := l.fetchAll(t, append([]string{"--mode", "eht"}, l.byBattery()...)...)
	chosen, last := settled(t, r)
	if last.WattsSource != power {
		t.Errorf("%v: %+v", s, last)
	}
	numbers := ehtSweep()
	if !slices.Contains(numbers, chosen) {
		numbers = append(numbers, chosen)
	}
	ratios := make([]float64, len(numbers))
	t.Run(s.link, func(t *testing.T) {
		for i, n := range numbers {
			t.Run(fmt.Sprintf("%d connections", n), func(t *testing.T) {
				t.Parallel()
				_, ratios[i] = s.lab(t, s.set).fetchAll(t, "--mode", "manual", "-j", strconv.Itoa(n), "--power", "none")
			})
		}
	})
	best := slices.Max(ratios)
	own := ratios[slices.Index(numbers, chosen)]
	t.Logf("%v: %d connections (%s), %.3f of the best, with %d: %.3g", s, chosen, last.Why, own/best, numbers[slices.Index(ratios, best)], ratios)
	return own >= 0.95*best
}

// power is the source of the power that is measured in these tests.
const power = "battery"
