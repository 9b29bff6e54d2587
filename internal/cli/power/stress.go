package power

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/program"
	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/launch"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/power"
	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/internal/stats"
	"github.com/mlget/mlget/internal/term"
)

// stressPart of a phase is its beginning, whose readings do not count: links build
// up, and a battery's gauge is late.
const stressPart = 5

// stressOptions holds the flags of the stress test (skjolden, 7.1).
type stressOptions struct {
	url    string
	links  []string
	phase  time.Duration
	asJSON bool
	extra  []string // flags of its downloads
}

// stress is the device's power at rest, with each link saturated, with all links, with the
// processor at work, and with all of it.
type stress struct {
	Source          string        `json:"source"`
	IntervalSeconds float64       `json:"interval_seconds"`
	IdleWatts       float64       `json:"idle_watts"`
	FullLoadWatts   float64       `json:"full_load_watts"` // the highest of the phases' medians
	PeakWatts       float64       `json:"peak_watts"`
	Phases          []stressPhase `json:"phases"`
}

// stressPhase is a time of one kind of load.
type stressPhase struct {
	Name           string   `json:"name"`
	Links          []string `json:"links,omitempty"`
	Processor      bool     `json:"processor,omitempty"`
	Seconds        float64  `json:"seconds"`
	ThroughputMbps float64  `json:"throughput_mbps,omitempty"`
	Samples        int      `json:"samples"`
	MedianWatts    float64  `json:"median_watts"`
	PeakWatts      float64  `json:"peak_watts"`
}

// stressPhases are the phases over links of those names.
func stressPhases(links []string) []stressPhase {
	phases := []stressPhase{{Name: "idle"}}
	for _, l := range links {
		phases = append(phases, stressPhase{Name: l, Links: []string{l}})
	}
	if len(links) > 1 {
		phases = append(phases, stressPhase{Name: "all links", Links: links})
	}
	return append(phases,
		stressPhase{Name: "processor", Processor: true},
		stressPhase{Name: "links and processor", Links: links, Processor: true})
}

// readings collects what a sampler publishes.
type readings struct {
	mu     sync.Mutex
	source event.PowerSource
	all    []event.Power
}

func (r *readings) add(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := e.(type) {
	case event.PowerSource:
		r.source = e
	case event.Power:
		r.all = append(r.all, e)
	}
}

// within are the watts that were read between two times since the beginning. A
// counter's reading is the mean of the time before it.
func (r *readings) within(from, to time.Duration) (watts []float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.all {
		if at := time.Duration(p.At); p.HasWatts() && at-p.Over >= from && at <= to {
			watts = append(watts, p.Watts)
		}
	}
	return watts
}

// fed says whether a reading was taken on external power.
func (r *readings) fed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.all, func(p event.Power) bool { return p.External })
}

// stressPower runs the test and prints its results.
func stressPower(ctx context.Context, cfg power.Config, o *stressOptions, stdio console.IO) error {
	if _, err := flags.ParseURL(o.url); err != nil {
		return err
	}
	if o.phase < 2*cfg.Interval || o.phase > time.Hour {
		return exit.Usagef("--phase %v: must be within two intervals of readings (%v) and an hour", o.phase, 2*cfg.Interval)
	}
	links, err := o.usable(ctx)
	if err != nil {
		return err
	}
	t := stressTest{stressOptions: o, started: cfg.Started, tell: stdio.Err}
	if t.self, err = launch.Of(os.Args).Self(); err != nil {
		return err
	}
	if t.dir, err = os.MkdirTemp("", "mlget-stress-"); err != nil {
		return exit.FileError{Err: err}
	}
	defer os.RemoveAll(t.dir) //nolint:errcheck // it is below the directory of temporary files
	sub := cfg.Bus.Subscribe()
	sampler := power.Start(cfg)
	var collect sync.WaitGroup
	collect.Go(func() {
		for e := range sub.All() {
			t.readings.add(e)
		}
	})
	phases := stressPhases(links)
	err = t.run(ctx, phases)
	sampler.Stop()
	cfg.Bus.Close()
	collect.Wait()
	if err != nil {
		return err
	}
	s, err := t.result(phases)
	switch {
	case err != nil:
		return err
	case o.asJSON:
		return console.WriteJSON(stdio.Out, s)
	}
	return s.write(stdio.Out)
}

// usable are the links of the test.
func (o *stressOptions) usable(ctx context.Context) ([]string, error) {
	names, err := flags.NamedLinks(o.links)
	if err != nil {
		return nil, err
	}
	infos, err := link.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", link.ErrNoLink, err)
	}
	usable, _, err := link.Choose(infos, names)
	if err != nil {
		return nil, err
	}
	links := make([]string, len(usable))
	for i, l := range usable {
		links[i] = l.Name
	}
	return links, nil
}

// stressTest is a test that is under way.
type stressTest struct {
	*stressOptions
	self     []string
	dir      string // for the reports of its downloads
	started  time.Time
	tell     io.Writer
	readings readings
	spans    [][2]time.Duration // of the phases' readings that count
}

// run goes through the phases.
func (t *stressTest) run(ctx context.Context, phases []stressPhase) error {
	for i := range phases {
		p := &phases[i]
		_, _ = fmt.Fprintf(t.tell, "mlget: %s, for %v\n", p.Name, t.phase)
		begun := time.Since(t.started)
		bytes, err := t.load(ctx, p)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("stress test, %s: %w", p.Name, err)
		}
		p.Seconds = t.phase.Seconds()
		p.ThroughputMbps = float64(bytes) * 8e-6 / p.Seconds
		t.spans = append(t.spans, [2]time.Duration{begun + t.phase/stressPart, begun + t.phase})
	}
	return nil
}

// load puts a phase's load on the device for its time, and says how many bytes came.
func (t *stressTest) load(ctx context.Context, p *stressPhase) (bytes int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.phase)
	defer cancel()
	var busy sync.WaitGroup
	if p.Processor {
		for range runtime.GOMAXPROCS(0) {
			busy.Go(func() { compute(ctx) })
		}
	}
	for len(p.Links) > 0 && ctx.Err() == nil && err == nil {
		var n int64
		n, err = t.download(ctx, p.Links)
		bytes += n
	}
	<-ctx.Done()
	busy.Wait()
	return bytes, err
}

// compute keeps a core busy.
func compute(ctx context.Context) {
	yieldProcessor()
	for x := 1.0; ctx.Err() == nil; {
		for range 1 << 16 {
			x = math.Sqrt(x) + 1
		}
	}
}

// download fetches the URL once over some links, until ctx ends.
func (t *stressTest) download(ctx context.Context, links []string) (bytes int64, err error) {
	file := filepath.Join(t.dir, "report.json")
	if err := os.RemoveAll(file); err != nil {
		return 0, exit.FileError{Err: err}
	}
	args := append(slices.Clone(t.extra), "--quiet", "--power", power.None, "--links", strings.Join(links, ","), "--report", file, "--output", "-", t.url)
	var said strings.Builder
	cmd := program.Command(ctx, t.self, args...)
	cmd.Stderr = &said
	failed := cmd.Run()
	text, err := os.ReadFile(file)
	if err == nil {
		var r report.Report
		if err = json.Unmarshal(text, &r); err != nil {
			return 0, err
		}
		for _, l := range r.Links {
			bytes += l.Bytes
		}
	}
	switch {
	case ctx.Err() != nil:
		return bytes, nil
	case failed != nil:
		return bytes, fmt.Errorf("%w: %s", failed, cmp.Or(program.LastLine(said.String()), "it said nothing"))
	}
	return bytes, err
}

// result sums up the phases.
func (t *stressTest) result(phases []stressPhase) (stress, error) {
	source := &t.readings.source
	if source.Source == "" {
		return stress{}, fmt.Errorf("%w: %s", exit.ErrNoPower, source.Unavailable)
	}
	if t.readings.fed() {
		return stress{}, fmt.Errorf("%w: on external power", exit.ErrNoPower)
	}
	s := stress{Source: source.Source, IntervalSeconds: source.Interval.Seconds(), Phases: phases}
	for i := range phases {
		p := &phases[i]
		watts := t.readings.within(t.spans[i][0], t.spans[i][1])
		if len(watts) == 0 {
			return stress{}, fmt.Errorf("%w: no reading while %s; a longer --phase has some", exit.ErrNoPower, p.Name)
		}
		p.Samples, p.MedianWatts, p.PeakWatts = len(watts), stats.Median(watts), slices.Max(watts)
		s.FullLoadWatts, s.PeakWatts = max(s.FullLoadWatts, p.MedianWatts), max(s.PeakWatts, p.PeakWatts)
	}
	s.IdleWatts = phases[0].MedianWatts
	return s, nil
}

// write prints it for people.
func (s *stress) write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s, every %.3g s\n\n", term.Printable(s.Source), s.IntervalSeconds) //nolint:errcheck // Flush tells
	fmt.Fprintln(w, "load\tMbit/s\tmedian W\tpeak W\tof full load")                     //nolint:errcheck // Flush tells
	for _, p := range s.Phases {
		mbps := "-"
		if len(p.Links) > 0 {
			mbps = fmt.Sprintf("%.1f", p.ThroughputMbps)
		}
		part := energy.Utilisation(p.MedianWatts*p.Seconds, s.FullLoadWatts, p.Seconds)
		fmt.Fprintf(w, "%s\t%s\t%.3f\t%.3f\t%.0f %%\n", term.Printable(p.Name), mbps, p.MedianWatts, p.PeakWatts, 100*part) //nolint:errcheck // Flush tells
	}
	err := w.Flush()
	_, last := fmt.Fprintf(out, "\nFull load: %.2f W. For reports to say which part of it a download draws: --energy-model FILE, with {\"full_load_mw\": %.0f} in it.\n",
		s.FullLoadWatts, 1000*s.FullLoadWatts)
	return errors.Join(err, last)
}
