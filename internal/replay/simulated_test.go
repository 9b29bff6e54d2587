package replay

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"hash"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mlget/mlget/internal/race"
	"github.com/mlget/mlget/internal/sim"
	"github.com/mlget/mlget/internal/stats"
	"github.com/mlget/mlget/pkg/scheduler"
)

//nolint:gochecknoglobals // flags
var (
	full = flag.Bool("full", false, "all simulated runs, not one of ten")
	show = flag.String("show", "", "print the steps of this simulated run: SUITE/RUN, or SUITE/RUN:FROM-TO")
)

const simulatedFile = "../../testdata/replay/simulated.tsv"

// Hashes of the answers up to a step are kept for so many steps of a run at least, and twice
// as many at most.
const leastMarks = 8

// digest hashes a run's answers: for each step its time, the actions and the next wake-up.
type digest struct {
	hash   hash.Hash
	steps  int
	stride int // a mark for every so many steps
	marks  []string
	line   []byte
}

func newDigest() *digest { return &digest{hash: sha256.New(), stride: 1} }

func (d *digest) Step(at scheduler.Time, _ *scheduler.Input, actions []scheduler.Action, wake scheduler.Time) {
	messages := make([]message, len(actions))
	for i, a := range actions {
		messages[i] = encoded(a, actionFields)
	}
	d.line = binary.AppendVarint(d.line[:0], int64(at))
	d.line = appendAnswer(d.line, messages, at, wake)
	d.hash.Write(d.line)
	if d.steps++; d.steps%d.stride != 0 {
		return
	}
	if len(d.marks) == 2*leastMarks {
		for i := range leastMarks {
			d.marks[i] = d.marks[2*i+1]
		}
		d.marks, d.stride = d.marks[:leastMarks], 2*d.stride
		if d.steps%d.stride != 0 {
			return
		}
	}
	d.marks = append(d.marks, d.sum()[:4])
}

// sum is the hash so far.
func (d *digest) sum() string { return hex.EncodeToString(d.hash.Sum(nil)) }

// outcome is what is stored of a simulated run.
type outcome struct {
	steps, stride int
	hash          string // the first half of a SHA-256
	marks         []string
	seconds       float64
	delta         float64 // Link Δ in seconds
	waste, size   int64
	bound         float64 // seconds; 0: not known
}

func (o *outcome) String() string {
	return fmt.Sprintf("%d\t%s\t%.4g\t%.3g\t%d\t%d\t%.4g\t%d:%s",
		o.steps, o.hash, o.seconds, o.delta, o.waste, o.size, o.bound, o.stride, strings.Join(o.marks, ","))
}

func parseOutcome(columns []string) (o outcome, err error) {
	if len(columns) != 8 {
		return o, fmt.Errorf("%d columns", len(columns))
	}
	stride, marks, _ := strings.Cut(columns[7], ":")
	o.hash, o.marks = columns[1], strings.Split(marks, ",")
	_, err = fmt.Sscan(strings.Join([]string{columns[0], columns[2], columns[3], columns[4], columns[5], columns[6], stride}, " "),
		&o.steps, &o.seconds, &o.delta, &o.waste, &o.size, &o.bound, &o.stride)
	return o, err
}

// where describes the first block of steps in which the answers differ.
func (o *outcome) where(was *outcome) string {
	stride := max(o.stride, was.stride)
	for end := stride; ; end += stride {
		i, j := end/o.stride-1, end/was.stride-1
		if i >= len(o.marks) || j >= len(was.marks) || o.marks[i] != was.marks[j] {
			return fmt.Sprintf("%d-%d", end-stride, end-1)
		}
	}
}

func simulate(cfg sim.Config) (outcome, error) {
	d := newDigest()
	cfg.Observer = d
	res, err := sim.Run(cfg)
	return outcome{
		steps: d.steps, stride: d.stride, hash: d.sum()[:32], marks: d.marks,
		seconds: res.Seconds, delta: res.LinkDelta, waste: res.WastedBytes, size: cfg.Size,
	}, err
}

// stored are the outcomes in simulatedFile, by the run's full name, and the suites' hashes.
type stored struct {
	runs   map[string]outcome
	suites map[string]string
}

func loadSimulated() (s stored, err error) {
	s = stored{map[string]outcome{}, map[string]string{}}
	text, err := os.ReadFile(simulatedFile)
	if err != nil {
		return s, err
	}
	for line := range strings.Lines(string(text)) {
		columns := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if len(columns) == 2 {
			s.suites[columns[0]] = columns[1]
			continue
		}
		if s.runs[columns[0]], err = parseOutcome(columns[1:]); err != nil {
			return s, fmt.Errorf("%s: %s: %w", simulatedFile, columns[0], err)
		}
	}
	return s, nil
}

// TestSimulatedRuns runs the simulator's suites and compares what the scheduler answers.
func TestSimulatedRuns(t *testing.T) {
	if *show != "" {
		t.Skip("a run is shown")
	}
	all, err := suites()
	if err != nil {
		t.Fatal(err)
	}
	was, err := loadSimulated()
	if err != nil && !*accept {
		t.Fatal(err)
	}
	every := 10
	switch {
	case *full || *accept:
		every = 1
	case testing.Short() || race.Enabled || !exact():
		every = 50
	}
	now := runAll(t, all, every)
	for name, o := range now {
		if o.bound = was.runs[name].bound; o.bound > 0 {
			now[name] = o
		}
	}
	switch {
	case t.Failed():
	case *accept:
		addBounds(t, all, now)
		describe(t, all, was.runs, now)
		if err := storeSimulated(all, now); err != nil {
			t.Fatal(err)
		}
	case exact():
		compare(t, all, was, now)
	}
}

// runAll runs one of every so many runs of each suite.
func runAll(t *testing.T, all []suite, every int) map[string]outcome {
	now := map[string]outcome{}
	var lock sync.Mutex
	var pending sync.WaitGroup
	work := make(chan run)
	for range runtime.GOMAXPROCS(0) {
		pending.Go(func() {
			for r := range work {
				o, err := simulate(r.cfg)
				if err != nil {
					t.Errorf("%s: %v", r.name, err)
				}
				lock.Lock()
				now[r.name] = o
				lock.Unlock()
			}
		})
	}
	for i := range all {
		for k, r := range all[i].runs {
			if k%every == 0 {
				work <- run{all[i].name + "/" + r.name, r.cfg}
			}
		}
	}
	close(work)
	pending.Wait()
	return now
}

// addBounds computes the fluid bounds of runs that have none yet.
func addBounds(t *testing.T, all []suite, now map[string]outcome) {
	for i := range all {
		for _, r := range all[i].runs {
			name := all[i].name + "/" + r.name
			o := now[name]
			if o.bound > 0 {
				continue
			}
			var err error
			if o.bound, err = r.cfg.Bound(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			now[name] = o
		}
	}
}

// compare reports the first runs that differ.
func compare(t *testing.T, all []suite, was stored, now map[string]outcome) {
	const most = 5
	different := 0
	for _, name := range slices.Sorted(maps.Keys(now)) {
		o, before := now[name], was.runs[name]
		switch {
		case before.hash == "":
			t.Errorf("%s: not stored; make replay-accept stores it", name)
		case o.hash != before.hash:
			if different++; different > most {
				continue
			}
			where := o.where(&before)
			t.Errorf("%s: the first different answer is in steps %s of %d; print them, before the change and after it: "+
				"go test ./internal/replay -v -run Show -args -show %s:%s", name, where, o.steps, name, where)
		}
	}
	if different > 0 {
		t.Errorf("%d of %d simulated runs differ", different, len(now))
	}
	for i := range all {
		if hash, complete := all[i].hash(now); complete && hash != was.suites[all[i].name] {
			t.Errorf("%s: the suite's hash is %s", all[i].name, hash)
		}
	}
}

// hash is that of all answers of a suite's runs; false if some were not run.
func (s *suite) hash(now map[string]outcome) (string, bool) {
	h := sha256.New()
	for _, r := range s.runs {
		o, ok := now[s.name+"/"+r.name]
		if !ok {
			return "", false
		}
		h.Write([]byte(o.hash))
	}
	return hex.EncodeToString(h.Sum(nil)), true
}

func storeSimulated(all []suite, now map[string]outcome) error {
	var b strings.Builder
	b.WriteString("# make replay-accept writes this file; testdata/replay/README.md describes it.\n")
	for i := range all {
		s := &all[i]
		hash, _ := s.hash(now)
		fmt.Fprintf(&b, "%s\t%s\n", s.name, hash)
		for _, r := range s.runs {
			o := now[s.name+"/"+r.name]
			fmt.Fprintf(&b, "%s/%s\t%s\n", s.name, r.name, &o)
		}
	}
	return os.WriteFile(simulatedFile, []byte(b.String()), 0o644)
}

// describe prints what a change does to each suite: for the commit's message.
func describe(t *testing.T, all []suite, was, now map[string]outcome) {
	t.Log("suite: runs changed; ratio of times, mean ± 95 % and median; of the bound, median and p05; Link Δ, median and p95; waste")
	for i := range all {
		var logs, before, after, deltaBefore, deltaAfter []float64
		var wasteBefore, wasteAfter, size float64
		changed := 0
		for _, r := range all[i].runs {
			name := all[i].name + "/" + r.name
			o, b := now[name], was[name]
			if b.hash == "" || o.seconds <= 0 || b.seconds <= 0 {
				continue
			}
			if o.hash != b.hash {
				changed++
			}
			logs = append(logs, math.Log(o.seconds/b.seconds))
			before, after = append(before, b.bound/b.seconds), append(after, o.bound/o.seconds)
			deltaBefore, deltaAfter = append(deltaBefore, b.delta), append(deltaAfter, o.delta)
			wasteBefore, wasteAfter, size = wasteBefore+float64(b.waste), wasteAfter+float64(o.waste), size+float64(o.size)
		}
		if changed == 0 {
			continue
		}
		for _, list := range [][]float64{before, after, deltaBefore, deltaAfter} {
			slices.Sort(list)
		}
		mean, half := interval(logs)
		slices.Sort(logs)
		q := stats.Quantile
		t.Logf("%s: %d of %d; %.5f ± %.5f, %.5f; %.4f to %.4f, %.4f to %.4f; %.3f to %.3f s, %.3f to %.3f s; %.4f to %.4f",
			all[i].name, changed, len(logs), math.Exp(mean), half, math.Exp(q(logs, 0.5)),
			q(before, 0.5), q(after, 0.5), q(before, 0.05), q(after, 0.05),
			q(deltaBefore, 0.5), q(deltaAfter, 0.5), q(deltaBefore, 0.95), q(deltaAfter, 0.95),
			wasteBefore/size, wasteAfter/size)
	}
}

// interval is the mean of values, and half of its 95 % interval.
func interval(values []float64) (mean, half float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return mean, 1.96 * math.Sqrt(squares/max(1, n-1)/n)
}

// printer prints a run's steps.
type printer struct {
	t              *testing.T
	step, from, to int
}

func (p *printer) Step(at scheduler.Time, in *scheduler.Input, actions []scheduler.Action, wake scheduler.Time) {
	if p.step >= p.from && p.step <= p.to {
		p.t.Logf("step %d at %.9f s: %+v: %+v; next at %.9f s", p.step, at.Seconds(), *in, actions, wake.Seconds())
	}
	p.step++
}

// TestShow prints steps of a simulated run.
func TestShow(t *testing.T) {
	if *show == "" {
		t.Skip("nothing to show")
	}
	all, err := suites()
	if err != nil {
		t.Fatal(err)
	}
	name, steps, _ := strings.Cut(*show, ":")
	p := &printer{t: t, to: math.MaxInt}
	if from, to, ok := strings.Cut(steps, "-"); ok {
		p.from, _ = strconv.Atoi(from)
		p.to, _ = strconv.Atoi(to)
	}
	for i := range all {
		for _, r := range all[i].runs {
			if all[i].name+"/"+r.name == name {
				r.cfg.Observer = p
				res, err := sim.Run(r.cfg)
				t.Logf("%s: %.6f s, %d bytes wasted, Link Δ %.6f s, %v", name, res.Seconds, res.WastedBytes, res.LinkDelta, err)
				return
			}
		}
	}
	t.Errorf("no run %s", name)
}

// TestDigestFindsTheBlock: of two runs that differ from a step on, the block that holds the
// step is named.
func TestDigestFindsTheBlock(t *testing.T) {
	for _, steps := range []int{1, 7, 16, 17, 1000} {
		for different := range steps {
			var outcomes [2]outcome
			for k := range outcomes {
				d := newDigest()
				for i := range steps {
					d.Step(scheduler.Time(i), nil, nil, scheduler.Time(k*max(0, i-different+1)))
				}
				outcomes[k] = outcome{steps: d.steps, stride: d.stride, marks: d.marks, hash: d.sum()}
			}
			if outcomes[0].hash == outcomes[1].hash {
				t.Fatalf("%d steps that differ from %d on have the same hash", steps, different)
			}
			var from, to int
			if _, err := fmt.Sscanf(outcomes[0].where(&outcomes[1]), "%d-%d", &from, &to); err != nil || different < from || different > to {
				t.Fatalf("%d steps that differ from %d on: the block is %d to %d", steps, different, from, to)
			}
		}
	}
}
