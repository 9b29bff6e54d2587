// Package page makes figures, tables and documents of a study: one HTML file, SVG,
// PNG, Markdown, CSV, JSON or text for a terminal.
//
// Contract: functions of their arguments, safe from any goroutine; the same study
// gives the same bytes.
package page

import (
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
	return []string{".html", ".svg", ".png", ".json", ".csv", ".md"}
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

// Write writes a study in a format. figures chooses figures by name, for all formats
// that have any; none chooses all.
func Write(w io.Writer, s *study.Study, format string, figures []string) error {
	switch format {
	case ".html":
		return writeHTML(w, s, figures)
	case ".svg", ".png":
		all := drawings(Choose(Figures(s), figures))
		switch {
		case len(all) == 0:
			return ErrNoFigures
		case format == ".svg":
			return plot.WriteSVG(w, all, plot.Sheet{Columns: 2})
		}
		return plot.WritePNG(w, all, plot.Sheet{Columns: 2})
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
		case len(free) == 0: // nobody could tell them apart
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
