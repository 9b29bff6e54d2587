package page

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

// TestOptions: title, limits and size of text are those that were asked for.
func TestOptions(t *testing.T) {
	s := small(t)
	o := Options{Figures: []string{"energy"}, Title: "Joules <of> all", XLimits: &Limits{0, 42}, FontSize: 18}
	var b bytes.Buffer
	if err := Write(&b, s, ".svg", o); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	if !strings.Contains(text, ">Joules &lt;of&gt; all</text>") || strings.Contains(text, "Energy and download time") {
		t.Error("the title is not the one that was asked for")
	}
	if !strings.Contains(text, "scale(1.5)") {
		t.Error("text is not half as large again")
	}
	ticks := regexp.MustCompile(`>(\d+)</text>`).FindAllStringSubmatch(text, -1)
	if last := ticks[len(ticks)-1][1]; last != "40" {
		t.Errorf("the last tick is %s of 0 to 42", last)
	}
	o = Options{Figures: []string{"throughput"}, Title: "Mine", XLimits: &Limits{1, 2}, YLimits: &Limits{50, 60}}
	b.Reset()
	if err := Write(&b, s, ".svg", o); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">Mine: Naive: throughput (3 runs)</text>", ">1.0</text>", ">2.0</text>", ">50</text>", ">60</text>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("there is no %s", want)
		}
	}
	b.Reset()
	if err := Write(&b, s, ".html", Options{Title: "A day"}); err != nil || !strings.Contains(b.String(), "<h1>A day</h1>") {
		t.Errorf("%v: no title of the page", err)
	}
}

// TestPanels: each figure is a file of its own, whose colours every program knows.
func TestPanels(t *testing.T) {
	s := small(t)
	panels, err := Panels(s, Options{})
	if err != nil || len(panels) != len(Figures(s)) {
		t.Fatalf("%d panels of %d, %v", len(panels), len(Figures(s)), err)
	}
	names := make(map[string]bool)
	for _, p := range panels {
		if names[p.Name] || !regexp.MustCompile(`^[a-z-]+-[0-9]+\.svg$`).MatchString(p.Name) {
			t.Errorf("a file %q", p.Name)
		}
		names[p.Name] = true
		if bytes.Contains(p.SVG, []byte("var(")) || bytes.Contains(p.SVG, []byte("@media")) {
			t.Errorf("%s leaves colours to a browser", p.Name)
		}
		for d := xml.NewDecoder(bytes.NewReader(p.SVG)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", p.Name, err)
			}
		}
	}
	if _, err := Panels(s, Options{Figures: []string{"none"}}); !errors.Is(err, ErrNoFigures) {
		t.Error(err)
	}
}
