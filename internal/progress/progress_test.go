package progress

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"go.uber.org/goleak"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/event/eventtest"
	"github.com/mlget/mlget/internal/goldentest"
	"github.com/mlget/mlget/pkg/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// show runs events through Run and gives what was written.
func show(events []event.Event, cfg Config) string {
	var b bytes.Buffer
	showOn(&b, events, cfg)
	return b.String()
}

func showOn(w io.Writer, events []event.Event, cfg Config) {
	var bus event.Bus
	sub := bus.Subscribe()
	for _, e := range events {
		bus.Publish(e)
	}
	bus.Close()
	Run(sub, w, cfg)
}

func runs() map[string][]event.Event {
	return map[string][]event.Event{
		"two-links":    eventtest.TwoLinks(),
		"unknown-size": eventtest.UnknownSize(),
		"empty-file":   eventtest.Empty(),
		"three-files":  eventtest.ManyFiles(3),
		"many-files":   eventtest.ManyFiles(25),
		"batch":        eventtest.Batch(),
		"nothing":      nil,
		"every type":   eventtest.Every(),
	}
}

// unsafe finds what no output may hold.
func unsafe(s string) int {
	return strings.IndexFunc(s, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) })
}

func TestGoldenLines(t *testing.T) {
	for _, name := range []string{"two-links", "unknown-size", "empty-file", "many-files", "batch", "nothing"} {
		for _, mode := range []Mode{ModePlain, ModeJSON, ModeNone} {
			got := show(runs()[name], Config{Mode: mode, Verbose: true})
			goldentest.File(t, "testdata/"+name+"."+string(mode), []byte(got))
			if i := unsafe(got); i >= 0 {
				t.Errorf("%s, %s: unprintable character at %d", name, mode, i)
			}
		}
	}
}

// upAndErase is what redraws begin with.
func upAndErase() *regexp.Regexp { return regexp.MustCompile(`\x1b\[\d+A\r\x1b\[J`) }

// lastFrame is what a terminal shows in the end, and everything is what was ever
// drawn.
func lastFrame(s string) (last, everything string) {
	frames := upAndErase().Split(s, -1)
	return frames[len(frames)-1], strings.Join(frames, "")
}

func TestGoldenBars(t *testing.T) {
	for _, name := range []string{"two-links", "unknown-size", "empty-file", "three-files", "many-files"} {
		last, everything := lastFrame(show(runs()[name], Config{Mode: ModeBar}))
		goldentest.File(t, "testdata/"+name+".bar", []byte(last))
		if i := unsafe(everything); i >= 0 {
			t.Errorf("%s: unprintable character at %d: %q", name, i, everything)
		}
	}
}

// While a run is on, the bars say where it stands.
func TestBarsOnTheWay(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []event.Event
	}{
		{"two-links.way", eventtest.TwoLinks()[:19]},
		{"three-files.way", eventtest.ManyFiles(3)[:9]},
		{"unknown-size.way", eventtest.UnknownSize()[:6]},
	} {
		var out bytes.Buffer
		b := newBars(&out)
		for _, e := range c.events {
			b.add(e)
		}
		b.close()
		last, _ := lastFrame(out.String())
		goldentest.File(t, "testdata/"+c.name, []byte(last))
	}
}

// A part of a run makes little sense, and must do no harm; the goroutine that
// draws ends all the same (TestMain looks).
func TestNoPanicOnAnyPart(t *testing.T) {
	for name, events := range runs() {
		for mode, stride := range map[Mode]int{ModePlain: 1, ModeJSON: 1, ModeNone: 1, ModeAuto: 1, ModeBar: 7} {
			t.Run(name+"/"+string(mode), func(_ *testing.T) {
				for n := 0; n <= len(events); n += stride {
					show(events[n:], Config{Mode: mode, Verbose: true})
					show(events[:n], Config{Mode: mode})
				}
			})
		}
	}
}

func TestNotices(t *testing.T) {
	events := []event.Event{
		event.Notice{Warning: true, Text: "before the start"},
		event.RunStarted{Links: []event.LinkInfo{{Name: "wlan0"}}, Files: 1},
		event.Notice{Warning: true, Text: "careful\x1b[2J"},
		event.Notice{Text: "by the way"},
		event.RunEnded{},
	}
	const before, careful, way = "mlget: before the start\n", `mlget: careful\x1b[2J` + "\n", "mlget: by the way\n"
	for _, mode := range []Mode{ModeAuto, ModeNone, ModePlain, ModeBar} {
		for _, c := range []struct {
			cfg             Config
			warnings, other bool
		}{
			{Config{Mode: mode}, true, false},
			{Config{Mode: mode, Verbose: true}, true, true},
			{Config{Mode: mode, Quiet: true}, false, false},
		} {
			got := show(events, c.cfg)
			for line, want := range map[string]bool{before: c.warnings, careful: c.warnings, way: c.other} {
				if strings.Contains(got, line) != want {
					t.Errorf("%+v: got %q; %q in it: want %v", c.cfg, got, line, want)
				}
			}
		}
	}
}

// TestNoticeOfManyFiles: what each of them has to tell is said once, but to a
// program.
func TestNoticeOfManyFiles(t *testing.T) {
	same := event.Notice{Warning: true, Text: "no ranges"}
	events := []event.Event{event.RunStarted{Files: 3}, same, event.FileStarted{}, same, event.Notice{Text: "for -v only"}, same, event.Notice{Warning: true, Text: "other"}, same}
	for mode, want := range map[Mode]int{ModeNone: 2, ModePlain: 2, ModeBar: 2, ModeJSON: 4} {
		if n := strings.Count(show(events, Config{Mode: mode}), "no ranges"); n != want {
			t.Errorf("%s: %d times, want %d", mode, n, want)
		}
	}
}

func TestAutoNeedsATerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	showOn(file, eventtest.TwoLinks(), Config{Mode: ModeAuto})
	got, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	if want := "mlget: link eth7: no such interface; it is skipped\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestJSONLinesAreJSON(t *testing.T) {
	out := show(eventtest.UnknownSize(), Config{Mode: ModeJSON})
	var kinds []string
	for dec := json.NewDecoder(strings.NewReader(out)); dec.More(); {
		var line struct {
			Event string `json:"event"`
			Text  string `json:"text"`
		}
		if err := dec.Decode(&line); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, line.Event)
	}
	if got := strings.Join(kinds, " "); got != "notice progress progress progress" {
		t.Errorf("got %s from %s", got, out)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A terminal that is gone is no reason to stop or to hang.
func TestGoneTerminal(t *testing.T) {
	for _, mode := range []Mode{ModePlain, ModeJSON, ModeNone, ModeBar} {
		t.Run(string(mode), func(_ *testing.T) {
			showOn(failing{}, eventtest.TwoLinks(), Config{Mode: mode, Verbose: true})
		})
	}
	t.Run("while bars are shown", func(_ *testing.T) {
		b := newBars(failing{})
		b.add(eventtest.TwoLinks()[0])
		b.draw()
		for _, e := range eventtest.TwoLinks() {
			b.add(e)
			b.notice("x", true)
		}
		b.close()
	})
}

func TestParseMode(t *testing.T) {
	for _, s := range []string{"auto", "bar", "plain", "json", "none"} {
		if m, err := ParseMode(s); err != nil || string(m) != s {
			t.Errorf("%s: %v, %v", s, m, err)
		}
	}
	for _, s := range []string{"", "bars", "JSON"} {
		if m, err := ParseMode(s); err == nil {
			t.Errorf("%q is %q", s, m)
		}
	}
}

func TestTimeLeft(t *testing.T) {
	sample := func(at scheduler.Time, size, done int64, rate float64) event.Event {
		return event.Sample{At: at * scheduler.Second, Size: size, Done: done, Links: []event.LinkSample{{Rate: rate}}}
	}
	start := []event.Event{event.RunStarted{Files: 1, Links: []event.LinkInfo{{Name: "a"}}}, event.FileStarted{}}
	for _, c := range []struct {
		name   string
		events []event.Event
		want   time.Duration
		known  bool
	}{
		{"nothing yet", nil, 0, false},
		{"steady", []event.Event{sample(1, 1000, 200, 100)}, 8 * time.Second, true},
		{"stalled", []event.Event{sample(1, 1000, 200, 0)}, 0, false},
		{"for ever", []event.Event{sample(1, 1<<60, 200, 2)}, 0, false},
		{"size unknown", []event.Event{sample(1, -1, 200, 100)}, 0, false},
		{"all there", []event.Event{sample(1, 1000, 1000, 0)}, 0, true},
		{"a long stall is believed in the end", []event.Event{sample(1, 1000, 200, 100), sample(100, 1000, 200, 0)}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b board
			for _, e := range append(start[:2:2], c.events...) {
				b.add(e)
			}
			if d, known := b.left(); d != c.want || known != c.known {
				t.Errorf("%v, %v, want %v, %v", d, known, c.want, c.known)
			}
		})
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		part  float64
		known bool
		width int
		want  string
	}{
		{0, true, 12, "[          ]"},
		{0.55, true, 12, "[=====     ]"},
		{0.999, true, 12, "[========= ]"},
		{1, true, 12, "[==========]"},
		{1, true, 5, "     "},
		{1, true, 0, ""},
		{1, true, -3, ""},
		{0.5, false, 8, "        "},
	} {
		if got := bar(row{part: c.part, known: c.known}, c.width); got != c.want {
			t.Errorf("%v of %d: %q, want %q", c.part, c.width, got, c.want)
		}
	}
}
