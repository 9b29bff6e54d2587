// Package page makes figures, tables and documents of a study: one HTML file, SVG,
// PNG, Markdown, CSV, JSON or text for a terminal.
//
// Contract: functions of their arguments, safe from any goroutine; the same study
// gives the same bytes.
package page

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/plot"
	"github.com/mlget/mlget/internal/study"
)

// Formats are the endings of the files that Write can make.
func Formats() []string {
	return []string{".html", ".svg", ".pdf", ".png", ".json", ".csv", ".md"}
}

// ErrNoFigures says that there is nothing to draw.
var ErrNoFigures = errors.New("there is nothing to draw: figures over time need records (--record), comparisons several approaches")

// FormatOf gives the format of a file by its name, or an error that lists all.
func FormatOf(name string) (string, error) {
	format := strings.ToLower(filepath.Ext(name))
	if format == ".htm" {
		format = ".html"
	}
	if !slices.Contains(Formats(), format) {
		return "", fmt.Errorf("%q has none of the endings %s", name, strings.Join(Formats(), ", "))
	}
	return format, nil
}

// Options are what figures are to be like. The zero value is a page's.
type Options struct {
	Figures []string // only those of these names; none: all
	Title   string   // of the page, and of a figure; of several it stands before their own
	// XLimits and YLimits are what axes show; nil: what there is. Of comparisons, whose values
	// go to the right, XLimits are the values'.
	XLimits, YLimits *Limits
	FontSize         float64 // pixels, in files of figures; 0: 12
}

// Limits are the ends of an axis.
type Limits struct{ Low, High float64 }

// Write writes a study in a format.
func Write(w io.Writer, s *study.Study, format string, o Options) error {
	sheet := plot.Sheet{Columns: 2, FontSize: o.FontSize}
	switch format {
	case ".html":
		return writeHTML(w, s, o)
	case ".svg", ".png", ".pdf":
		all := drawings(o.figures(s))
		switch {
		case len(all) == 0:
			return ErrNoFigures
		case format == ".svg":
			return plot.WriteSVG(w, all, sheet)
		case format == ".pdf":
			return plot.WritePDF(w, all, sheet)
		}
		return plot.WritePNG(w, all, sheet)
	case ".json":
		return writeJSON(w, s)
	case ".csv":
		return writeCSV(w, s)
	case ".md":
		return writeMarkdown(w, s)
	}
	return fmt.Errorf("there is no format %q", format)
}

// Names are the names of figures, in their order.
func Names() []string {
	return []string{
		"throughput", "time", "cpu", "compare-cpu", "memory", "compare-memory", "power", "energy", "peak-power",
	}
}

// Named is a figure and which of the kinds of Names it is.
type Named struct {
	Name   string
	Figure plot.Figure
}

// Choose gives the figures of these names; all where there are no names.
func Choose(all []Named, names []string) []Named {
	if len(names) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(n Named) bool { return !slices.Contains(names, n.Name) })
}

// figures are those that are wanted, as they are wanted.
func (o Options) figures(s *study.Study) []Named {
	all := Choose(Figures(s), o.Figures)
	for i, n := range all {
		all[i].Figure = o.apply(n.Figure, len(all) > 1)
	}
	return all
}

// apply is a figure with the title and the limits that are wanted.
func (o Options) apply(f plot.Figure, several bool) plot.Figure {
	title := func(own string) string {
		switch {
		case o.Title == "":
			return own
		case several:
			return o.Title + ": " + own
		}
		return o.Title
	}
	limit := func(a *plot.Axis, l *Limits) {
		if l != nil {
			a.Min, a.Max, a.Exact = l.Low, l.High, true
		}
	}
	switch f := f.(type) {
	case *plot.Chart:
		c := *f
		c.Title = title(c.Title)
		limit(&c.X, o.XLimits)
		limit(&c.Y, o.YLimits)
		return &c
	case *plot.Bars:
		b := *f
		b.Title = title(b.Title)
		limit(&b.Wide, o.XLimits)
		return &b
	}
	return f
}

// Panel is a figure in a file of its own.
type Panel struct {
	Name string // of the file: kind, number, ending
	SVG  []byte
}

// Panels are the wanted figures, each as a file of SVG, for papers.
func Panels(s *study.Study, o Options) (panels []Panel, err error) {
	number := make(map[string]int)
	for _, n := range o.figures(s) {
		number[n.Name]++
		var b bytes.Buffer
		if err := plot.WriteSVG(&b, []plot.Figure{n.Figure}, plot.Sheet{FontSize: o.FontSize}); err != nil {
			return nil, err
		}
		panels = append(panels, Panel{Name: fmt.Sprintf("%s-%d.svg", n.Name, number[n.Name]), SVG: b.Bytes()})
	}
	if len(panels) == 0 {
		return nil, ErrNoFigures
	}
	return panels, nil
}

func drawings(named []Named) []plot.Figure {
	figures := make([]plot.Figure, len(named))
	for i, n := range named {
		figures[i] = n.Figure
	}
	return figures
}

// linkColours gives each link one colour for all figures: Wi-Fi blue and LTE orange,
// as in the thesis, where technologies are known, else by their order.
func linkColours(s *study.Study) map[string]plot.Colour {
	techs := s.Techs()
	names := s.Links()
	wanted := func(name string) int {
		switch techs[name] {
		case "wifi":
			return 0
		case "lte", "nr", "umts":
			return 1
		}
		return -1
	}
	// Those that want a colour choose first.
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(min(wanted(b), 0), min(wanted(a), 0))
	})
	free := []plot.Colour{0, 1, 2, 6, 4} // the others mean something else
	colours := make(map[string]plot.Colour)
	for i, name := range names {
		at := slices.Index(free, plot.Colour(wanted(name)))
		switch {
		case len(free) == 0: // they could not be told apart
			colours[name] = []plot.Colour{0, 1, 2, 6, 4}[i%5]
			continue
		case at < 0:
			at = 0
		}
		colours[name] = free[at]
		free = slices.Delete(free, at, at+1)
	}
	return colours
}
