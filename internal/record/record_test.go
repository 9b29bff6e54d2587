package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/event/eventtest"
)

const head = `{"event":"record","schema":1}` + "\n"

func written(t *testing.T, events []event.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	for _, e := range events {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readAll(t *testing.T, data []byte) (*Reader, []event.Event, error) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, nil, err
	}
	var events []event.Event
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return r, events, nil
		}
		if err != nil {
			return r, events, err
		}
		events = append(events, e)
	}
}

func TestRoundTrip(t *testing.T) {
	for name, events := range map[string][]event.Event{
		"every type": eventtest.Every(),
		"two links":  eventtest.TwoLinks(),
		"many files": eventtest.ManyFiles(50),
		"nothing":    nil,
	} {
		t.Run(name, func(t *testing.T) {
			r, got, err := readAll(t, written(t, events))
			if err != nil {
				t.Fatal(err)
			}
			if r.Skipped() != 0 || r.Truncated() {
				t.Errorf("%d skipped, truncated %v", r.Skipped(), r.Truncated())
			}
			if len(got) != len(events) {
				t.Fatalf("%d events of %d came back", len(got), len(events))
			}
			for i := range got {
				if !reflect.DeepEqual(got[i], events[i]) {
					t.Errorf("event %d is %#v, was %#v", i, got[i], events[i])
				}
			}
		})
	}
}

func TestLinesAreAsPromised(t *testing.T) {
	data := written(t, []event.Event{event.Notice{At: 5, Text: "two\nlines", Shown: "a secret"}})
	want := head + `{"event":"notice","at":5,"warning":false,"text":"two\nlines"}` + "\n"
	if string(data) != want {
		t.Errorf("got %s, want %s", data, want)
	}
	// A field called "event" would hide the kind.
	for _, e := range eventtest.Every() {
		typ := reflect.TypeOf(e)
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if name == "" || strings.EqualFold(name, "event") {
				t.Errorf("%s.%s is stored as %q", typ.Name(), typ.Field(i).Name, name)
			}
		}
	}
}

func TestHeader(t *testing.T) {
	for _, c := range []struct {
		name, data string
		want       error
	}{
		{"good", head, nil},
		{"no line end", `{"event":"record","schema":1}`, nil},
		{"more fields", `{"event":"record","schema":1,"more":[1]}` + "\n", nil},
		{"empty", "", ErrNotRecord},
		{"another file", "%PDF-1.7\n", ErrNotRecord},
		{"no newline for ever", strings.Repeat("x", 2*maxLine), ErrNotRecord},
		{"an event first", `{"event":"notice"}` + "\n", ErrNotRecord},
		{"no schema", `{"event":"record"}` + "\n", ErrNotRecord},
		{"later schema", `{"event":"record","schema":2}` + "\n", ErrSchema},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := readAll(t, []byte(c.data)); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestOddLines(t *testing.T) {
	const notice = `{"event":"notice","text":"x"}` + "\n"
	for _, c := range []struct {
		name, body      string
		events, skipped int
		truncated       bool
		fails           string // part of the error
	}{
		{name: "unknown kind", body: notice + `{"event":"comet","tail":1}` + "\n" + notice, events: 2, skipped: 1},
		{name: "unknown field", body: `{"event":"notice","text":"x","colour":3}` + "\n", events: 1},
		{name: "empty lines", body: "\n" + notice + "  \r\n\n", events: 1},
		{name: "Windows line ends", body: `{"event":"notice","text":"x"}` + "\r\n", events: 1},
		{name: "last line cut", body: notice + `{"event":"notice","te`, events: 1, truncated: true},
		{name: "last line lacks only its end", body: notice + `{"event":"notice"}`, events: 2},
		{name: "broken line in the middle", body: notice + "{\"event\":\n" + notice, events: 1, fails: "line 3"},
		{name: "kind that is written otherwise", body: `{"event":"not\u0069ce"}` + "\n" + `{"text":"x", "event":"notice"}` + "\n", events: 2},
		{name: "unknown kind, broken", body: `{"event":"comet",` + "\n" + notice, fails: "comet"},
		{name: "no kind", body: "{}\n", fails: "line 2"},
		{name: "not an object", body: "[]\n", fails: "line 2"},
		{name: "wrong type", body: `{"event":"sample","at":"soon"}` + "\n", fails: "sample"},
		{name: "number too large", body: `{"event":"sample","at":99999999999999999999}` + "\n", fails: "sample"},
		{name: "endless line", body: notice + strings.Repeat("y", 2*maxLine), events: 1, fails: "line 3: line too long"},
		{name: "long but honest", body: `{"event":"notice","text":"` + strings.Repeat("z", maxLine/2) + `"}` + "\n", events: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, events, err := readAll(t, []byte(head+c.body))
			if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Fatalf("error %v, want %q", err, c.fails)
			}
			if len(events) != c.events || r.Skipped() != c.skipped || r.Truncated() != c.truncated {
				t.Errorf("%d events, %d skipped, truncated %v", len(events), r.Skipped(), r.Truncated())
			}
			if _, again := r.Next(); err != nil && !errors.Is(again, err) {
				t.Errorf("after the error: %v", again)
			}
		})
	}
}

// A record that is cut anywhere gives every event before the cut.
func TestCutAnywhere(t *testing.T) {
	events := eventtest.Every()
	data := written(t, events)
	for n := len(head); n < len(data); n++ {
		r, got, err := readAll(t, data[:n])
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		whole := bytes.Count(data[:n], []byte("\n")) - 1
		rest := data[bytes.LastIndexByte(data[:n], '\n')+1 : n]
		if data[n] == '\n' {
			whole, rest = whole+1, nil
		}
		if len(got) != whole || r.Truncated() != (len(rest) > 0) {
			t.Fatalf("cut at %d: %d events of %d, truncated %v", n, len(got), whole, r.Truncated())
		}
	}
}

type brokenWriter struct{ room int }

var errFull = errors.New("no space left")

func (b *brokenWriter) Write(p []byte) (int, error) {
	if len(p) > b.room {
		return 0, errFull
	}
	b.room -= len(p)
	return len(p), nil
}

func TestRun(t *testing.T) {
	run := func(w io.Writer, events []event.Event) error {
		var bus event.Bus
		sub := bus.Subscribe()
		for _, e := range events {
			bus.Publish(e)
		}
		bus.Close()
		return Run(sub, w)
	}
	var b bytes.Buffer
	if err := run(&b, eventtest.TwoLinks()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), written(t, eventtest.TwoLinks())) {
		t.Error("Run does not write what Writer writes")
	}
	if err := run(&brokenWriter{room: 100}, eventtest.ManyFiles(1000)); !errors.Is(err, errFull) {
		t.Errorf("full disk: %v", err)
	}
	b.Reset()
	var unsupported *json.UnsupportedValueError
	err := run(&b, []event.Event{event.Notice{Text: "a"}, event.Sample{Links: []event.LinkSample{{Rate: math.NaN()}}}, event.Notice{Text: "b"}})
	if !errors.As(err, &unsupported) {
		t.Errorf("not a number: %v", err)
	}
	if _, events, err := readAll(t, b.Bytes()); err != nil || len(events) != 2 {
		t.Errorf("after an event that has no form: %d events, %v", len(events), err)
	}
}

func TestPass(t *testing.T) {
	r, err := NewReader(bytes.NewReader(written(t, eventtest.Every())))
	if err != nil {
		t.Fatal(err)
	}
	r.Pass(event.Step{}, event.Notice{})
	n := 0
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e.(type) {
		case event.Step, event.Notice:
			t.Errorf("%s was not passed over", e.Kind())
		}
		n++
	}
	if want := len(eventtest.Every()) - 2; n != want || r.Skipped() != 0 {
		t.Errorf("%d events of %d, %d skipped", n, want, r.Skipped())
	}
	// A last line that was cut off is truncated even where its kind is passed over.
	r, err = NewReader(strings.NewReader(head + `{"event":"step","at"`))
	if err != nil {
		t.Fatal(err)
	}
	r.Pass(event.Step{})
	if _, err := r.Next(); !errors.Is(err, io.EOF) || !r.Truncated() {
		t.Errorf("cut off: %v, truncated %v", err, r.Truncated())
	}
}

func FuzzRead(f *testing.F) {
	for _, e := range eventtest.Every() {
		var b bytes.Buffer
		w := NewWriter(&b)
		if err := errors.Join(w.Write(e), w.Flush()); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
		f.Add(b.Bytes()[:b.Len()-5])
	}
	f.Add([]byte(head + "{}\n\n{\"event\":\"x\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, events, _ := readAll(t, data)
		// Whatever could be read can be written, and is then read as the same.
		once := written(t, events)
		r, again, err := readAll(t, once)
		if err != nil || len(again) != len(events) || r.Truncated() || r.Skipped() != 0 {
			t.Fatalf("%d events came back as %d: %v", len(events), len(again), err)
		}
		if !bytes.Equal(written(t, again), once) {
			t.Fatalf("written twice, it differs: %s", once)
		}
	})
}
