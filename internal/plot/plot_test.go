package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/goldentest"
)

func chart() *Chart {
	c := &Chart{
		Title: "Algorithm 3: throughput", X: Axis{Label: "time, s", Max: 10}, Y: Axis{Label: "Mbit/s"},
		Keys:  []Key{{Colour: 0, Text: "wlan0: median 80.00 Mbit/s"}, {Colour: 1, Dashed: true, Text: "rmnet0"}},
		Rules: []Rule{{Colour: 0, At: 80}, {Colour: 1, At: 9.5, Upright: true, Dashed: true}},
	}
	for l := range 2 {
		line := Line{Colour: Colour(l), Thin: l == 1}
		for i := range 20 {
			line.Points = append(line.Points, Point{float64(i) / 2, 80 - 30*float64(l)*math.Exp(-float64(i)/4)})
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}

func bars() *Bars {
	return &Bars{
		Title: "Energy", Wide: Axis{Label: "J"}, Thin: Axis{Label: "download time, s"}, Keys: []Key{{Colour: Faint, Text: "median"}},
		Rows: []Row{
			{Name: "naive", Wide: 58, Thin: []Thin{{Colour: Ink, Value: 19}}},
			{Name: "algorithm 3", Wide: 62, Box: &Box{58, 60, 62, 63, 70}, Thin: []Thin{{Colour: Ink, Value: 16.5}, {Colour: 1, Value: math.NaN()}}},
			{Name: "a name that is much too long for its place", Wide: math.NaN()},
		},
	}
}

// hostile is a figure of what no figure should have to show.
func hostile() []Figure {
	return []Figure{
		&Chart{},
		&Bars{},
		&Chart{
			Title: "<script>\x1b[2J\u202e\"&'", Keys: []Key{{Colour: 99, Text: "</svg>"}},
			X: Axis{Max: math.Inf(1)}, Y: Axis{Max: math.NaN()},
			Lines: []Line{{Colour: -9, Dashed: true, Points: []Point{{math.NaN(), 1}, {1, math.Inf(1)}, {0, 0}, {0, 0}, {-5, -7}, {1e300, 1e300}, {2, 3}}}},
			Rules: []Rule{{At: math.NaN()}, {At: math.Inf(-1), Upright: true}},
		},
		&Bars{Rows: []Row{{Name: "<b>", Wide: math.Inf(1), Box: &Box{Min: math.NaN()}, Thin: []Thin{{Value: math.Inf(1)}, {Colour: 4, Value: -3}}}, {Wide: -5, Box: &Box{}}}},
		&Bars{Rows: []Row{{Name: "less than nothing", Wide: -5}, {Wide: 4, Box: &Box{Min: -3, Max: 4}}}},
	}
}

func TestSVG(t *testing.T) {
	goldentest.File(t, "testdata/chart.svg", AppendSVG(nil, chart()))
	goldentest.File(t, "testdata/bars.svg", AppendSVG(nil, bars()))
}

func TestSVGIsWellFormed(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSVG(&b, append(hostile(), chart(), bars()), Sheet{Columns: 2, FontSize: 15}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	d := xml.NewDecoder(&b)
	elements := make(map[string]int)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			elements[e.Name.Local]++
		}
	}
	known := []string{"svg", "style", "rect", "g", "path", "text"}
	for name := range elements {
		if !slices.Contains(known, name) {
			t.Errorf("there is an element %q", name)
		}
	}
	for _, bad := range []string{"NaN", "Inf", "\x1b", "\u202e", "url(", "href"} {
		if strings.Contains(text, bad) {
			t.Errorf("there is %q in it", bad)
		}
	}
}

// What is drawn lies within the figure.
func TestInside(t *testing.T) {
	numbers := regexp.MustCompile(`[ML](-?[0-9.]+) (-?[0-9.]+)`)
	for _, f := range append(hostile(), chart(), bars()) {
		width, height := chartWidth, f.height(chartWidth)
		for _, m := range numbers.FindAllSubmatch(AppendSVG(nil, f), -1) {
			x, errX := strconv.ParseFloat(string(m[1]), 64)
			y, errY := strconv.ParseFloat(string(m[2]), 64)
			if err := errors.Join(errX, errY); err != nil {
				t.Fatal(err)
			}
			if x < 0 || x > width || y < -1 || y > height {
				t.Errorf("%q: a line goes through %v, %v of %v by %v", f.name(), x, y, width, height)
			}
		}
	}
}

func TestSketch(t *testing.T) {
	var b bytes.Buffer
	for _, f := range []Figure{chart(), bars()} {
		if err := Sketch(&b, f, 72); err != nil {
			t.Fatal(err)
		}
	}
	goldentest.File(t, "testdata/sketch.txt", b.Bytes())
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(line)); n > 73 {
			t.Errorf("a line of %d characters: %s", n-1, line)
		}
	}
	for _, f := range hostile() {
		var b bytes.Buffer
		if err := Sketch(&b, f, 10); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(b.String(), "\x1b\u202e") {
			t.Errorf("%q", b.String())
		}
	}
}

func TestScale(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		n         int
		want      string
	}{
		{0, 100, 5, "0 20 40 60 80 100"},
		{0, 81.6, 5, "0 20 40 60 80 100"},
		{0, 16.55, 7, "0 5 10 15 20"},
		{0, 0.37, 5, "0.0 0.1 0.2 0.3 0.4"},
		{0, 119, 5, "0 25 50 75 100 125"},
		{-5, 30, 7, "-5 0 5 10 15 20 25 30"},
		{0, 123456, 5, "0 25000 50000 75000 1e+05 1.25e+05"},
		{0, 0, 5, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{0, math.NaN(), 5, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{5, 1, 2, "5.0 5.5 6.0"},
	} {
		s := newScale(c.low, c.high, c.n, 0, 1)
		var got []string
		for _, v := range s.ticks() {
			got = append(got, s.label(v))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v to %v: %v, want %s", c.low, c.high, got, c.want)
		}
	}
}

func TestLinesAreThinnedWithoutHarm(t *testing.T) {
	var points []Point
	for i := range 1000 {
		points = append(points, Point{float64(i), 50})
	}
	points[500].Y = 90
	x, y := newScale(0, 1000, 7, 0, 400), newScale(0, 100, 5, 200, 0)
	parts := place(points, x, y)
	if len(parts) != 1 || len(parts[0]) > 40 {
		t.Fatalf("%d parts, the first of %d points", len(parts), len(parts[0]))
	}
	if !slices.ContainsFunc(parts[0], func(p Point) bool { return math.Abs(p.Y-y.at(90)) < 0.1 }) {
		t.Error("the one that stands out is lost")
	}
	if parts := place([]Point{{0, 1}, {1, 1}, {2, math.NaN()}, {3, 1}, {4, 1}}, x, y); len(parts) != 2 {
		t.Errorf("%d parts around a gap", len(parts))
	}
}

// TestLastTick: both axes of a chart end at a tick that is written.
func TestLastTick(t *testing.T) {
	c := chart()
	c.X.Max = 9.7
	x, y := c.scales(0, 300, 0, 200)
	for name, s := range map[string]scale{"x": x, "y": y} {
		ticks := s.ticks()
		if len(ticks) < 3 || math.Abs(ticks[len(ticks)-1]-s.to) > 1e-9 || math.Abs(ticks[0]-s.from) > 1e-9 {
			t.Errorf("%s: from %v to %v, ticks %v", name, s.from, s.to, ticks)
		}
	}
	c.X = Axis{Min: 2, Max: 9, Exact: true}
	if x, _ := c.scales(0, 300, 0, 200); x.from != 2 || x.to != 9 {
		t.Errorf("from %v to %v", x.from, x.to)
	}
}

// TestTextIsLargeEnough: on a screen of 390 pixels, of which a page leaves 374 to a figure,
// no text of a figure is smaller than 12 pixels.
func TestTextIsLargeEnough(t *testing.T) {
	for _, f := range []Figure{chart(), bars()} {
		for _, m := range regexp.MustCompile(`font-size="([0-9.]+)"`).FindAllSubmatch(AppendSVG(nil, f), -1) {
			size, err := strconv.ParseFloat(string(m[1]), 64)
			if err != nil || size*374/chartWidth < 12 {
				t.Errorf("%q: %s pixels of %v", f.name(), m[1], chartWidth)
			}
		}
	}
}

// TestMarksDiffer: of eight runs every one has a shape of its own.
func TestMarksDiffer(t *testing.T) {
	seen := make(map[string]Mark)
	for m := Mark(1); m <= Marks; m++ {
		var s svg
		m.draw(&s, Point{10, 10}, Ink)
		if other, ok := seen[string(s.out)]; ok || len(s.out) == 0 {
			t.Errorf("marks %d and %d are one", m, other)
		}
		seen[string(s.out)] = m
	}
}

// TestWrap: lines are no longer than their width, nothing is lost, and a number stays with
// its unit.
func TestWrap(t *testing.T) {
	const text = "rmnet0: median 55.3 Mbit/s (n = 2), done 7.2 s, of 12 runs, or 13"
	for width := 90.0; width < 400; width += 7 {
		lines := wrap(text, textSize, width)
		if strings.Join(lines, " ") != text {
			t.Errorf("%v: %q", width, lines)
		}
		for _, line := range lines {
			if textWidth(line, textSize) > width || strings.HasSuffix(line, "55.3") || strings.HasSuffix(line, "7.2") || strings.HasSuffix(line, "12") {
				t.Errorf("%v: %q", width, line)
			}
		}
	}
	if lines := wrap("", textSize, 100); len(lines) != 1 {
		t.Errorf("%q", lines)
	}
}
