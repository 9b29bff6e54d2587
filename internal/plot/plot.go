// Package plot draws figures: as SVG, whose colours a style sheet decides, so that
// they suit light and dark pages and paper; as PNG; and as a sketch of characters.
//
// A figure is data; what it looks like is the same for all of them and not a matter
// of options.
//
// Contract: functions of their arguments; no state, safe from any goroutine.
package plot

import (
	"errors"
	"math"
)

// ErrTooLarge says that so many figures do not fit into one PNG.
var ErrTooLarge = errors.New("too many figures for one PNG")

// Colour is one of a small number of colours that can be told apart, also by most
// who are colour-blind: 0 is blue, 1 is orange. Ink is the colour of text.
type Colour int

// Colours with a meaning.
const (
	Ink   Colour = -1
	Faint Colour = -2 // grey
)

// colours is how many there are beside Ink and Faint.
const colours = 8

// Point is a point of a line.
type Point struct{ X, Y float64 }

// Axis is what an axis shows, and its unit. It begins at 0.
type Axis struct {
	Label string
	Min   float64 // of a time axis that begins before 0
	// Max is what it reaches at least. A chart's y axis ends there, rounded up: what is
	// beyond is cut off at the edge. 0: as far as there is something.
	Max float64
	// Exact axes go from Min to Max, whatever there is.
	Exact bool
}

// Line is a polyline. Thin ones are one of many.
type Line struct {
	Colour Colour
	Points []Point
	Thin   bool
	Dashed bool
	Mark   Mark // at some of its points
}

// Mark is a shape by which lines of one colour are told apart; 0 is none.
type Mark int

// Marks is how many shapes there are.
const Marks = 8

// Rule is a straight line across the figure at a value of the x axis (Upright) or of
// the y axis.
type Rule struct {
	Colour  Colour
	At      float64
	Upright bool
	Dashed  bool
}

// Key says what a colour means.
type Key struct {
	Colour Colour
	Dashed bool
	Mark   Mark
	Text   string
}

// Figure is one that can be drawn: a Chart or Bars.
type Figure interface {
	// height is what it needs where it is so wide, in pixels.
	height(width float64) float64
	// draw draws it with its upper left corner at the origin.
	draw(c canvas, width float64)
	// name is its title.
	name() string
}

// Chart shows values over time.
type Chart struct {
	Title string
	Keys  []Key
	X, Y  Axis
	Lines []Line
	Rules []Rule
}

// Bars compares rows: each has a wide bar, thin ones within it, and a box of how the
// wide one's value is distributed.
type Bars struct {
	Title string
	Keys  []Key
	Rows  []Row
	Wide  Axis // of wide bars and boxes
	Thin  Axis // of thin bars; without a label they have that of the wide ones
}

// Row is what is compared with other rows.
type Row struct {
	Name string
	Wide float64 // NaN: not known
	Box  *Box    // nil: none
	Thin []Thin
}

// Box is a distribution: its middle half, its median and its ends.
type Box struct{ Min, P25, Median, P75, Max float64 }

// Thin is a thin bar.
type Thin struct {
	Colour Colour
	Value  float64 // NaN: none
}

// canvas is what figures are drawn on. Units are CSS pixels, y goes down.
type canvas interface {
	polyline(points []Point, s stroke)
	rect(x, y, width, height float64, c Colour, opacity float64)
	text(x, y float64, s string, t textStyle)
}

// stroke is how a line is drawn.
type stroke struct {
	colour  Colour
	width   float64
	opacity float64
	dashed  bool
}

// anchor is which point of a text is given.
type anchor int

const (
	atStart anchor = iota
	atMiddle
	atEnd
)

// textStyle is how a text is drawn.
type textStyle struct {
	colour Colour
	size   float64
	bold   bool
	anchor anchor
	upward bool // turned by 90°, reading upwards
}

// glyphWidth is how wide a character is, as part of its size: a little more than in
// most fonts.
const glyphWidth = 0.57

// textWidth is about how wide a text is; no canvas is asked, so that a figure is the
// same on all of them.
func textWidth(s string, size float64) float64 {
	n := 0
	for range s {
		n++
	}
	return float64(n) * size * glyphWidth
}

// fit shortens a text to a width.
func fit(s string, size, width float64) string {
	if textWidth(s, size) <= width {
		return s
	}
	runes := []rune(s)
	keep := max(int(width/(size*glyphWidth))-1, 1)
	if keep >= len(runes) {
		return s
	}
	return string(runes[:keep]) + "…"
}

// Sheet is how figures stand in a file.
type Sheet struct {
	Columns int // how many stand side by side; 0: 1
	// FontSize is that of their text, in pixels; 0: 12. Figures stay as wide as they are,
	// and their lines and spaces grow with the text.
	FontSize float64
}

// scale is how much larger than usual all is drawn.
func (s Sheet) scale() float64 {
	if !(s.FontSize > 0) {
		return 1
	}
	return min(max(s.FontSize, leastFont), mostFont) / textSize
}

// Bounds of a font's size, in pixels: below, nothing can be read, and above, nothing of
// the figure is left.
const (
	leastFont = 4
	mostFont  = 20
)

// width is a figure's, before it is scaled.
func (s Sheet) width() float64 { return chartWidth / s.scale() }

// arrange places figures in rows, each as high as its highest; all is in pixels of the
// sheet.
func (s Sheet) arrange(figures []Figure) (places []Point, width, height float64) {
	columns := max(min(s.Columns, len(figures)), 1)
	var y, row float64
	for i, f := range figures {
		if i%columns == 0 {
			y, row = y+row, 0
		}
		places = append(places, Point{float64(i%columns) * chartWidth, y})
		row = max(row, f.height(s.width())*s.scale())
		width = max(width, float64(i%columns+1)*chartWidth)
	}
	return places, width, y + row
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
