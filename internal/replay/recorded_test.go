package replay

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/record"
	"github.com/mlget/mlget/pkg/scheduler"
)

//nolint:gochecknoglobals // flags
var (
	accept  = flag.Bool("accept", false, "store what the scheduler answers now, and say what that changes")
	records = flag.String("import", "", "a directory of records (mlget --record) to store as recorded runs")
)

const recordedDir = "../../testdata/replay/recorded"

// exact says whether this machine has to decide as the one did that stored the runs:
// compilers may fuse multiplications and additions on others (arm64, ppc64, s390x), and their
// math.Exp2 has other last bits, so that a comparison may turn out otherwise.
func exact() bool { return runtime.GOARCH == "amd64" }

// TestRecordedRuns gives the inputs of real runs to a scheduler of today.
func TestRecordedRuns(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recordedDir, "*.gz"))
	if err != nil || len(files) < 40 && *records == "" {
		t.Fatalf("%d recorded runs, %v", len(files), err)
	}
	changed, steps := 0, 0
	for _, file := range files {
		traces, err := load(file)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		first := ""
		for i := range traces {
			d, err := rerun(&traces[i])
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if d != "" && first == "" {
				first = fmt.Sprintf("scheduler %d, %s", i, d)
			}
			steps += len(traces[i].steps)
		}
		switch name := strings.TrimSuffix(filepath.Base(file), ".gz"); {
		case first == "":
		case *accept:
			changed++
			t.Logf("%s: %s", name, first)
			if err := save(file, traces); err != nil {
				t.Fatal(err)
			}
		case exact():
			t.Errorf("%s: %s", name, first)
		}
	}
	t.Logf("%d recorded runs, %d steps; %d changed", len(files), steps, changed)
}

// rerun gives a trace's inputs to a new scheduler, puts its answers in the place of those
// stored, and describes the first that differs.
func rerun(t *trace) (first string, err error) {
	core, err := newCore(t.config)
	if err != nil {
		return "", err
	}
	var scratch []scheduler.Action
	for i := range t.steps {
		var now step
		now, scratch = answers(core, &t.steps[i], scratch)
		if d := now.differs(&t.steps[i]); d != "" && first == "" {
			in := decoded(now.input, inputFields)
			first = fmt.Sprintf("step %d at %.6f s, %+v: %s", i, now.at.Seconds(), in, d)
		}
		t.steps[i] = now
	}
	return first, nil
}

// TestImport stores records as recorded runs. Their actions must be those of today's scheduler.
func TestImport(t *testing.T) {
	if *records == "" {
		t.Skip("no records to import")
	}
	files, err := filepath.Glob(filepath.Join(*records, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no records in %s: %v", *records, err)
	}
	for _, file := range files {
		traces, err := importRecord(file)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for i := range traces {
			if err := answered(&traces[i]); err != nil {
				t.Errorf("%s: scheduler %d: %v", file, i, err)
			}
		}
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl") + ".gz"
		if err := save(filepath.Join(recordedDir, name), traces); err != nil {
			t.Fatal(err)
		}
	}
}

// answered checks a record's actions, and fills in when the scheduler wanted to be asked.
func answered(t *trace) error {
	core, err := newCore(t.config)
	if err != nil {
		return err
	}
	var scratch []scheduler.Action
	for i := range t.steps {
		was := t.steps[i]
		t.steps[i], scratch = answers(core, &was, scratch)
		was.wake = t.steps[i].wake
		if d := t.steps[i].differs(&was); d != "" {
			return fmt.Errorf("step %d: %s", i, d)
		}
	}
	return nil
}

func importRecord(file string) ([]trace, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	r, err := record.NewReader(f)
	if err != nil {
		return nil, err
	}
	var traces []trace
	latest := map[event.FileID]int{} // the trace of each file's latest scheduler
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		switch e := e.(type) {
		case event.SchedulerStarted:
			latest[e.File] = len(traces)
			traces = append(traces, trace{config: encoded(e, configFields)})
		case event.Step:
			i, ok := latest[e.File]
			if !ok {
				return nil, fmt.Errorf("a step of file %d, whose scheduler is not there", e.File)
			}
			s := step{at: e.At, input: encoded(e.Input, inputFields)}
			for _, a := range e.Actions {
				s.actions = append(s.actions, encoded(a, actionFields))
			}
			traces[i].steps = append(traces[i].steps, s)
		default: // of no scheduler
		}
	}
	if len(traces) == 0 {
		return nil, errors.New("no scheduler in it")
	}
	return traces, nil
}

// TestFieldsAreComplete: a field of Input or Action that has no number would be lost.
func TestFieldsAreComplete(t *testing.T) {
	var in scheduler.Input
	fill(reflect.ValueOf(&in).Elem())
	if got := decoded(encoded(in, inputFields), inputFields); !reflect.DeepEqual(got, in) {
		t.Errorf("%+v comes back as %+v", in, got)
	}
	var a scheduler.Action
	fill(reflect.ValueOf(&a).Elem())
	if got := decoded(encoded(a, actionFields), actionFields); got != a {
		t.Errorf("%+v comes back as %+v", a, got)
	}
	var c event.SchedulerStarted
	fill(reflect.ValueOf(&c).Elem())
	c.At, c.File, c.Algorithm, c.Energy = 0, 0, "3", scheduler.EnergyMin // the first two do not matter
	if got := decoded(encoded(c, configFields), configFields); !reflect.DeepEqual(got, c) {
		t.Errorf("%+v comes back as %+v", c, got)
	}
}

// fill sets every field to something.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(math.Pi)
	case reflect.String:
		v.SetString("x")
	case reflect.Uint8:
		v.SetUint(2)
	default:
		v.SetInt(3)
	}
}

// TestFilesSurvive: a file of traces comes back as it was.
func TestFilesSurvive(t *testing.T) {
	traces := []trace{
		{config: message{{number: 4, value: 2}}, steps: []step{
			{at: 5, input: message{{number: 1, value: 3}, {number: 20, sub: message{{number: 1, value: -7}}}}, wake: scheduler.Never},
			{at: 9, input: message{}, actions: []message{{{number: 4, value: 1 << 40}}}, wake: 3},
		}},
		{config: message{}},
	}
	name := filepath.Join(t.TempDir(), "x.gz")
	if err := save(name, traces); err != nil {
		t.Fatal(err)
	}
	got, err := load(name)
	if err != nil || !reflect.DeepEqual(got, traces) {
		t.Errorf("%+v came back as %+v, %v", traces, got, err)
	}
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, whole[:len(whole)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := load(name); err == nil {
		t.Error("half a file was read")
	}
}

// TestDifferenceNamesTheField: what is said of a step that differs leads to the field.
func TestDifferenceNamesTheField(t *testing.T) {
	a := scheduler.Action{Kind: scheduler.Start, Link: 1, Chunk: 7, Range: scheduler.Range{Off: 5, End: 9}}
	b := a
	b.Range.End = 10
	is, was := encoded(a, actionFields), encoded(b, actionFields)
	if d := difference(is, was, ""); d != "range end is 9, was 10" {
		t.Errorf("%q", d)
	}
	if d := difference(is, slices.Clone(is), ""); d != "" {
		t.Errorf("%q of the same", d)
	}
}
