package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// step is an input, and what the scheduler answered.
type step struct {
	at      scheduler.Time
	input   message
	actions []message
	wake    scheduler.Time // scheduler.Never: it need not be asked
}

// trace is a recorded run of one scheduler.
type trace struct {
	config message
	steps  []step
}

// magic begins a file of traces, before compression.
const magic = "mlget replay 1\n"

// What follows magic: records, each of which begins with one of these.
const (
	recordConfig = 1 // a configuration: a scheduler begins
	recordStep   = 2
)

func appendMessage(b []byte, m message) []byte {
	for _, f := range m {
		if f.sub == nil {
			b = binary.AppendUvarint(b, uint64(f.number)<<1)
			b = binary.AppendVarint(b, f.value)
			continue
		}
		b = binary.AppendUvarint(b, uint64(f.number)<<1|1)
		b = appendMessage(b, f.sub)
	}
	return append(b, 0)
}

func appendAnswer(b []byte, actions []message, at, wake scheduler.Time) []byte {
	b = binary.AppendUvarint(b, uint64(len(actions)))
	for _, a := range actions {
		b = appendMessage(b, a)
	}
	if wake == scheduler.Never {
		return append(b, 0)
	}
	return binary.AppendVarint(append(b, 1), int64(wake-at))
}

// save writes a file of traces.
func save(name string, traces []trace) error {
	b := []byte(magic)
	for _, t := range traces {
		b = appendMessage(append(b, recordConfig), t.config)
		at := scheduler.Time(0)
		for _, s := range t.steps {
			b = binary.AppendVarint(append(b, recordStep), int64(s.at-at))
			b = appendMessage(b, s.input)
			b = appendAnswer(b, s.actions, s.at, s.wake)
			at = s.at
		}
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, packed.Bytes(), 0o644)
}

// load reads a file of traces.
func load(name string) ([]trace, error) {
	packed, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer packed.Close() //nolint:errcheck // it is only read
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	r := &reader{r: bufio.NewReader(z)}
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(r.r, head); err != nil || string(head) != magic {
		return nil, errors.New("not a file of traces")
	}
	var traces []trace
	at := scheduler.Time(0)
	for {
		kind, err := r.r.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return traces, nil
		case err != nil:
			return nil, err
		case kind == recordConfig:
			traces, at = append(traces, trace{config: r.message(0)}), 0
		case kind == recordStep && len(traces) > 0:
			at += scheduler.Time(r.varint())
			t := &traces[len(traces)-1]
			t.steps = append(t.steps, r.step(at))
		default:
			return nil, fmt.Errorf("a record of kind %d", kind)
		}
		if r.err != nil {
			return nil, r.err
		}
	}
}

// reader keeps the first error.
type reader struct {
	r   *bufio.Reader
	err error
}

// maxDepth and maxLength bound what a broken file can ask for.
const (
	maxDepth  = 8
	maxLength = 1 << 16
)

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *reader) uvarint() uint64 {
	x, err := binary.ReadUvarint(r.r)
	if err != nil {
		r.fail(err)
	}
	return x
}

func (r *reader) varint() int64 {
	x, err := binary.ReadVarint(r.r)
	if err != nil {
		r.fail(err)
	}
	return x
}

func (r *reader) message(depth int) message {
	m := message{}
	for r.err == nil {
		key := r.uvarint()
		if key == 0 {
			break
		}
		if depth == maxDepth || len(m) == maxLength {
			r.fail(errors.New("a message that is too large"))
			break
		}
		f := field{number: int(key >> 1)}
		if key&1 == 0 {
			f.value = r.varint()
		} else {
			f.sub = r.message(depth + 1)
		}
		m = append(m, f)
	}
	return m
}

func (r *reader) step(at scheduler.Time) step {
	s := step{at: at, input: r.message(0), wake: scheduler.Never}
	for n := r.uvarint(); n > 0 && r.err == nil; n-- {
		s.actions = append(s.actions, r.message(0))
	}
	if r.uvarint() == 1 {
		s.wake = at + scheduler.Time(r.varint())
	}
	return s
}

// newCore makes a scheduler of a recorded configuration.
func newCore(config message) (*scheduler.Core, error) {
	c := decoded(config, configFields)
	return coreOf(&c)
}

func coreOf(c *event.SchedulerStarted) (*scheduler.Core, error) {
	policy, err := scheduler.NewPolicy(c.Algorithm, c.StaticLimit, c.Padding)
	if err != nil {
		return nil, err
	}
	return scheduler.New(scheduler.Config{
		Links: c.Links, Policy: policy, Size: c.Size, Have: c.Have, Overlap: c.Overlap, Window: c.Window,
		NoSteal: c.NoSteal, NoFailover: c.NoFailover, Parallelism: c.Parallelism, Batch: c.Batch, TLS: c.TLS,
		Limited: c.Limited, Energy: c.Energy, Offload: c.Offload, Deadline: c.Deadline,
	})
}

// answers gives a step's input to a scheduler, and what it answers now.
func answers(core *scheduler.Core, s *step, scratch []scheduler.Action) (step, []scheduler.Action) {
	scratch = core.Step(s.at, decoded(s.input, inputFields), scratch[:0])
	now := step{at: s.at, input: s.input, wake: core.NextWake()}
	for _, a := range scratch {
		now.actions = append(now.actions, encoded(a, actionFields))
	}
	return now, scratch
}

// difference names the first field in which what is there differs from what was, if any does.
// The names are those of messages that have just been encoded.
func difference(is, was message, path string) string {
	for i, j := 0, 0; i < len(is) || j < len(was); {
		switch {
		case j == len(was) || i < len(is) && is[i].number < was[j].number:
			return fmt.Sprintf("%s%s is %v, was 0", path, is[i].name, is[i].text())
		case i == len(is) || is[i].number > was[j].number:
			return fmt.Sprintf("%sfield %d is 0, was %v", path, was[j].number, was[j].text())
		}
		a, b := &is[i], &was[j]
		if (a.sub == nil) != (b.sub == nil) || a.value != b.value {
			return fmt.Sprintf("%s%s is %v, was %v", path, a.name, a.text(), b.text())
		}
		if a.sub != nil {
			if d := difference(a.sub, b.sub, path+a.name+" "); d != "" {
				return d
			}
		}
		i, j = i+1, j+1
	}
	return ""
}

func (f *field) text() string {
	if f.sub == nil {
		return fmt.Sprint(f.value)
	}
	return fmt.Sprint(f.sub)
}

// differs says how a step's answers differ from those recorded; "": they do not.
func (s *step) differs(was *step) string {
	for i := range max(len(s.actions), len(was.actions)) {
		switch {
		case i >= len(s.actions):
			a := decoded(was.actions[i], actionFields)
			return fmt.Sprintf("action %d is missing: %+v", i, a)
		case i >= len(was.actions):
			a := decoded(s.actions[i], actionFields)
			return fmt.Sprintf("action %d is new: %+v", i, a)
		}
		if d := difference(s.actions[i], was.actions[i], ""); d != "" {
			return fmt.Sprintf("action %d: %s; it is %+v, was %+v", i, d,
				decoded(s.actions[i], actionFields), decoded(was.actions[i], actionFields))
		}
	}
	if s.wake != was.wake {
		return fmt.Sprintf("next wake-up is at %.6f s, was %.6f s", s.wake.Seconds(), was.wake.Seconds())
	}
	return ""
}
