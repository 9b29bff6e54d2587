package page

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/goldentest"
	"github.com/mlget/mlget/internal/plot"
	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/internal/study"
)

// small is a study of three runs of each approach.
func small(t testing.TB) *study.Study {
	t.Helper()
	dir := t.TempDir()
	campaign(t, dir, 3, 20, 10)
	return read(t, dir)
}

func written(t testing.TB, s *study.Study, format string, figures ...string) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, s, format, Options{Figures: figures}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	var b bytes.Buffer
	if err := WriteText(&b, small(t), 72, true, Options{Figures: []string{"throughput", "time", "power"}}); err != nil {
		t.Fatal(err)
	}
	goldentest.File(t, "testdata/report.txt", b.Bytes())
}

func TestMarkdown(t *testing.T) {
	goldentest.File(t, "testdata/report.md", []byte(written(t, small(t), ".md")))
}

func TestFigures(t *testing.T) {
	s := small(t)
	got := make(map[string]int)
	for _, f := range Figures(s) {
		got[f.Name]++
	}
	for _, name := range Names() {
		want := 1
		switch name {
		case "throughput", "cpu", "memory", "power":
			want = len(s.Approaches)
		}
		if got[name] != want {
			t.Errorf("%d figures %q, want %d", got[name], name, want)
		}
	}
	for _, several := range []bool{true, false} {
		var names []string
		for _, section := range sectionsOf(several) {
			names = append(names, section...)
		}
		slices.Sort(names)
		want := Names()
		slices.Sort(want)
		if !slices.Equal(names, want) {
			t.Errorf("a page has %v of the figures %v", names, want)
		}
	}
	for _, f := range Figures(s) {
		c, ok := f.Figure.(*plot.Chart)
		if !ok || f.Name != "throughput" {
			continue
		}
		for i, key := range c.Keys {
			want := plot.Ink
			switch {
			case strings.HasPrefix(key.Text, "wlan0"):
				want = 0
			case strings.HasPrefix(key.Text, "rmnet0"):
				want = 1
			}
			if key.Colour != want {
				t.Errorf("%s: key %d, %q, has colour %d", c.Title, i, key.Text, key.Colour)
			}
		}
	}
}

func sectionsOf(several bool) (names [][]string) {
	for _, s := range sections(several) {
		names = append(names, s.names)
	}
	return names
}

// A page asks for nothing and runs nothing.
func TestHTML(t *testing.T) {
	s := small(t)
	text := written(t, s, ".html")
	if !strings.Contains(text, `content="default-src 'none'; style-src 'unsafe-inline'`) {
		t.Error("there is no content security policy")
	}
	outside := strings.ReplaceAll(text, `xmlns="http://www.w3.org/2000/svg"`, "")
	for _, bad := range []string{"<script", "http:", "https:", "url(", "@import", "src=", " on", "<iframe", "<base", "<form"} {
		if bad == " on" {
			if regexp.MustCompile(`<[^>]* on\w+=`).MatchString(outside) {
				t.Error("an element has a handler")
			}
			continue
		}
		if strings.Contains(outside, bad) {
			t.Errorf("there is %q in it", bad)
		}
	}
	if n := strings.Count(text, "<svg "); n != len(Figures(s)) {
		t.Errorf("%d figures of %d", n, len(Figures(s)))
	}
	one := written(t, s, ".html", "time")
	if n := strings.Count(one, "<svg "); n != 1 {
		t.Errorf("%d figures where one was asked for", n)
	}
}

// Text from elsewhere stays text.
func TestHostileNames(t *testing.T) {
	const name = "<img src=x onerror=alert(1)>\x1b[2J\u202e|`*"
	r := &study.Run{Name: name, Source: name, Broken: name}
	r.Report = report.Report{Version: name, Algorithm: name, Seconds: 1, Links: []report.Link{{Name: name, Bytes: 1, FinishedSeconds: 1}}}
	r.Traces = []study.Trace{{Link: name, Step: 1, Mbps: []float64{1, 2, 3}}}
	s := study.New([]*study.Run{r, {Name: "b", Source: "c", Report: r.Report}}, []error{errors.New(name)})
	for _, format := range Formats() {
		text := written(t, s, format)
		if format != ".png" && format != ".pdf" && format != ".csv" && strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%s: controls as they are", format)
		}
		if (format == ".html" || format == ".svg" || format == ".md") && strings.Contains(text, "<img") {
			t.Errorf("%s: an element from a name", format)
		}
	}
	var b bytes.Buffer
	if err := WriteText(&b, s, 80, true, Options{}); err != nil || strings.ContainsAny(b.String(), "\x1b\u202e") {
		t.Errorf("text: %v, %q", err, b.String())
	}
}

// No text from elsewhere is a formula in a spreadsheet, nor a picture or a link in Markdown.
func TestNamesAreNoFormulas(t *testing.T) {
	const picture = `![x](http://evil/y.png)\|&lt;`
	for _, name := range []string{"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", picture} {
		r := &study.Run{Name: name, Source: name}
		r.Report = report.Report{
			Version: "1", Algorithm: name, EnergyPolicy: name, Seconds: 1, SizeBytes: 8, WastedBytes: -5,
			Links: []report.Link{{Name: name, Bytes: 8, FinishedSeconds: 1}, {Name: "b", Bytes: -8}},
		}
		s := study.New([]*study.Run{r, {Name: "=b", Broken: name}}, nil)
		rows, err := csv.NewReader(strings.NewReader(written(t, s, ".csv"))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		numbers := slices.Index(rows[0], study.Seconds)
		for i, row := range rows {
			for j, cell := range row {
				text := i == 0 || j < numbers
				if text && strings.IndexAny(cell, "=+-@\t\r") == 0 || !text && strings.HasPrefix(cell, "'") {
					t.Errorf("%q: a cell is %q", name, cell)
				}
			}
		}
		if waste := rows[1][slices.Index(rows[0], study.Waste)]; waste != "-5" {
			t.Errorf("a number is written %q", waste)
		}
		if name != picture {
			continue
		}
		text := written(t, s, ".md")
		if want := `\!\[x\](http://evil/y.png)\\\|&amp;lt;`; !strings.Contains(text, want) || strings.Count(text, "[") != strings.Count(text, `\[`) {
			t.Errorf("Markdown from a name: %s", text)
		}
	}
}

func TestNothingKnown(t *testing.T) {
	s := study.New([]*study.Run{{Name: "x"}}, nil)
	for _, format := range Formats() {
		if format == ".png" || format == ".svg" || format == ".pdf" {
			if err := Write(io.Discard, s, format, Options{}); !errors.Is(err, ErrNoFigures) {
				t.Errorf("%s: %v", format, err)
			}
			continue
		}
		if text := written(t, s, format); strings.Contains(text, "NaN") {
			t.Errorf("%s: %s", format, text)
		}
	}
}

func TestCSVAndJSON(t *testing.T) {
	s := small(t)
	rows, err := csv.NewReader(strings.NewReader(written(t, s, ".csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+21 {
		t.Errorf("%d rows", len(rows))
	}
	at := slices.Index(rows[0], "seconds")
	link := slices.Index(rows[0], "rmnet0_median_mbps")
	if at < 0 || link < 0 || rows[1][at] == "" || rows[1][link] != "" || rows[4][link] == "" {
		t.Errorf("%v\n%v\n%v", rows[0], rows[1], rows[4])
	}
	var v struct {
		Schema     int
		Approaches []struct {
			Name   string
			Values map[string]map[string]float64
		}
	}
	if err := json.Unmarshal([]byte(written(t, s, ".json")), &v); err != nil {
		t.Fatal(err)
	}
	if v.Schema != study.Schema || len(v.Approaches) != 7 || v.Approaches[5].Values[study.Seconds]["median"] < 1 {
		t.Errorf("%+v", v)
	}
}

func TestFormatOf(t *testing.T) {
	names := map[string]string{"a.html": ".html", "b.HTM": ".html", "x/y.Svg": ".svg", "a": "", "a.pdf": ".pdf", "a.eps": "", "": "", "x/y.Png": ".png"}
	for name, want := range names {
		got, err := FormatOf(name)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

// A thousand runs of 16 s, from records to a page: at most 10 s and 300 MB.
func BenchmarkThousandRuns(b *testing.B) {
	dir := b.TempDir()
	campaign(b, dir, 143, 250, 100)
	var bytes int64
	entries, err := os.ReadDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			b.Fatal(err)
		}
		bytes += info.Size()
	}
	b.ReportMetric(float64(bytes)/float64(len(entries))/1e3, "KB/record")
	b.SetBytes(bytes)
	for b.Loop() {
		begun := time.Now()
		runs, errs := study.Read(b.Context(), []string{dir}, energy.Models{})
		if len(errs) > 0 || len(runs) != 1001 {
			b.Fatal(len(runs), errs)
		}
		text := written(b, study.New(runs, nil), ".html")
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		b.ReportMetric(float64(mem.Sys)/1e6, "MB-sys")
		b.ReportMetric(float64(len(text))/1e6, "MB-page")
		b.ReportMetric(time.Since(begun).Seconds(), "s/thousand")
	}
}

// TestSameAxes: on one page all figures of one quantity have the same axes, also where
// approaches take much longer than others, or come from several directories.
func TestSameAxes(t *testing.T) {
	s := small(t)
	for i, a := range s.Approaches {
		a.Source = []string{"x", "y"}[i%2]
		for _, r := range a.All()[:1] {
			r.Report.Seconds *= float64(1 + 5*(i%2))
		}
	}
	axes := make(map[string]plot.Axis)
	same := func(quantity string, a plot.Axis) {
		t.Helper()
		if b, ok := axes[quantity]; ok && a != b {
			t.Errorf("%s: %+v and %+v", quantity, a, b)
		}
		axes[quantity] = a
	}
	for _, f := range Figures(s) {
		switch c := f.Figure.(type) {
		case *plot.Chart:
			if c.X.Max < 5*2 || c.Y.Max <= 0 {
				t.Errorf("%s: %+v, %+v", c.Title, c.X, c.Y)
			}
			if f.Name == "power" {
				same("time of power", c.X)
			} else {
				same("time", c.X)
			}
			same(c.Y.Label, c.Y)
			for _, r := range c.Rules {
				if !r.Upright && r.At > c.Y.Max {
					t.Errorf("%s: a level at %v of %v makes its axis another one", c.Title, r.At, c.Y.Max)
				}
			}
		case *plot.Bars:
			for _, a := range []plot.Axis{c.Wide, c.Thin} {
				if a.Label == "download time, s" {
					same(a.Label, a)
				}
			}
		}
	}
	if len(axes) < 6 {
		t.Errorf("only %v", axes)
	}
}

// TestColoursMeanOneThing: over a whole page a colour is a link's, or a value's, and every
// one that is drawn is in the legend of its figure.
func TestColoursMeanOneThing(t *testing.T) {
	meanings := make(map[plot.Colour]string)
	for _, f := range Figures(small(t)) {
		keys := make(map[plot.Colour]bool)
		note := func(k plot.Key) {
			keys[k.Colour] = true
			word, _, _ := strings.Cut(strings.ReplaceAll(k.Text, ":", " "), " ")
			if k.Colour >= 0 && k.Mark == 0 {
				if word == "the" { // "the device" is what "this process" is in other figures: the run's
					word = "this"
				}
				if was := meanings[k.Colour]; was != "" && was != word {
					t.Errorf("%s: colour %d is %q and %q", f.Name, k.Colour, was, k.Text)
				}
				meanings[k.Colour] = word
			}
		}
		switch c := f.Figure.(type) {
		case *plot.Chart:
			for _, k := range c.Keys {
				note(k)
			}
			marks := make(map[plot.Mark]bool)
			for _, k := range c.Keys {
				marks[k.Mark] = true
			}
			for _, l := range c.Lines {
				if !keys[l.Colour] || !marks[l.Mark] {
					t.Errorf("%s: colour %d, mark %d is not in the legend", c.Title, l.Colour, l.Mark)
				}
			}
			for _, r := range c.Rules {
				if !keys[r.Colour] {
					t.Errorf("%s: colour %d of a line is not in the legend", c.Title, r.Colour)
				}
			}
		case *plot.Bars:
			for _, k := range c.Keys {
				note(k)
			}
			for _, r := range c.Rows {
				for _, thin := range r.Thin {
					if !keys[thin.Colour] {
						t.Errorf("%s: colour %d is not in the legend", c.Title, thin.Colour)
					}
				}
			}
		}
	}
	if len(meanings) < 5 {
		t.Errorf("only %v", meanings)
	}
}

// TestOneUnitOfBytes: a page has MB, and neither MiB nor KB.
func TestOneUnitOfBytes(t *testing.T) {
	text := written(t, small(t), ".html")
	if m := regexp.MustCompile(`[KMG]iB|KB`).FindString(text); m != "" {
		t.Errorf("there is %s on the page", m)
	}
}
