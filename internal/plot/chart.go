package plot

import (
	"math"
	"strings"
)

// The sizes of a chart, in pixels. On a phone that is held upright, of 390 pixels, a figure
// is as wide as it is made here, so that its text is no smaller than 12 pixels; on a screen
// two or three stand side by side.
const (
	chartWidth  = 340.0
	plotHeight  = 190.0
	titleSize   = 14.0
	textSize    = 12.0
	titleHeight = 18.0
	keyHeight   = 16.0
	keyWidth    = 26.0 // of what is drawn before a key's text
	keyGap      = 14.0
	marginLeft  = 52.0
	marginRight = 16.0
	marginBelow = 40.0
	edge        = 8.0
)

func (c *Chart) name() string { return c.Title }

func (c *Chart) height(width float64) float64 {
	return head(c.Title, c.Keys, width).height + 8 + plotHeight + marginBelow
}

// heading is a figure's title and keys, in lines.
type heading struct {
	title  []string
	keys   []placedKey
	height float64
}

// placedKey is a key with its place: of its first line the left end and the middle.
type placedKey struct {
	Key
	at    Point
	lines []string
}

// head places title and keys in so much width. Keys stand side by side where they fit.
func head(title string, keys []Key, width float64) heading {
	room := width - 2*edge
	h := heading{title: wrap(title, titleSize, room)}
	h.height = edge + titleHeight*float64(len(h.title))
	x, rows := edge, 0
	for _, k := range keys {
		lines := wrap(k.Text, textSize, room-keyWidth)
		needed := keyWidth
		for _, l := range lines {
			needed = max(needed, keyWidth+textWidth(l, textSize))
		}
		if x > edge && (x+needed > width-edge || len(lines) > 1) {
			h.height += keyHeight * float64(rows)
			x, rows = edge, 0
		}
		h.keys = append(h.keys, placedKey{Key: k, at: Point{x, h.height + keyHeight/2}, lines: lines})
		x, rows = x+needed+keyGap, max(rows, len(lines))
	}
	h.height += keyHeight * float64(rows)
	return h
}

// wrap breaks a text into lines of a width, not between a number and its unit; a word that
// is longer is shortened.
func wrap(text string, size, width float64) (lines []string) {
	var words []string
	for word := range strings.FieldsSeq(text) {
		if n := len(words); n > 0 && words[n-1][0] >= '0' && words[n-1][0] <= '9' && !strings.ContainsAny(words[n-1], " ,;") {
			words[n-1] += " " + word
			continue
		}
		words = append(words, word)
	}
	line := ""
	for _, word := range words {
		next := strings.TrimPrefix(line+" "+word, " ")
		if line != "" && textWidth(next, size) > width {
			lines = append(lines, line)
			next = word
		}
		line = fit(next, size, width)
	}
	return append(lines, line)
}

func (h heading) draw(on canvas) {
	for i, line := range h.title {
		on.text(edge, edge+titleHeight*(float64(i)+0.6), line, textStyle{colour: Ink, size: titleSize, bold: true})
	}
	for _, k := range h.keys {
		if k.Mark == 0 {
			on.polyline([]Point{k.at, {k.at.X + keyWidth - 6, k.at.Y}}, stroke{colour: k.Colour, width: 3, opacity: 1, dashed: k.Dashed})
		}
		k.Mark.draw(on, Point{k.at.X + keyWidth/2 - 3, k.at.Y}, k.Colour)
		for i, line := range k.lines {
			on.text(k.at.X+keyWidth, k.at.Y+4+keyHeight*float64(i), line, textStyle{colour: Ink, size: textSize})
		}
	}
}

// scales are those of the chart's axes, for a plot between these pixels.
func (c *Chart) scales(left, right, top, bottom float64) (x, y scale) {
	lowX, highX, highY := min(c.X.Min, 0), c.X.Max, c.Y.Max
	for _, l := range c.Lines {
		for _, p := range l.Points {
			if finite(p.X) && finite(p.Y) {
				lowX, highX = min(lowX, p.X), max(highX, p.X)
				if c.Y.Max <= 0 {
					highY = max(highY, p.Y)
				}
			}
		}
	}
	for _, r := range c.Rules {
		switch {
		case !finite(r.At):
		case r.Upright:
			highX = max(highX, r.At)
		default:
			highY = max(highY, r.At)
		}
	}
	lowX = max(lowX, c.X.Min)
	x = c.X.scale(lowX, highX, 6, left, right)
	return x, c.Y.scale(0, highY*1.02, 5, bottom, top)
}

// scale is an axis's from low to high; it ends at its first and its last tick unless it is
// exact.
func (a Axis) scale(low, high float64, n int, from, to float64) scale {
	if !a.Exact {
		return newScale(low, high, n, from, to)
	}
	s := newScale(a.Min, a.Max, n, from, to)
	if a.Max > a.Min {
		s.from, s.to = a.Min, a.Max
	}
	return s
}

// ticks are the ticks of a scale that may begin and end between two.
func (s scale) ticks() (values []float64) {
	for v := math.Ceil(s.from/s.step-1e-9) * s.step; v <= s.to+s.step*1e-6 && len(values) < 50; v += s.step {
		values = append(values, v)
	}
	return values
}

func (c *Chart) draw(on canvas, width float64) {
	h := head(c.Title, c.Keys, width)
	h.draw(on)
	top := h.height + 8
	left, right, bottom := marginLeft, width-marginRight, top+plotHeight
	x, y := c.scales(left, right, top, bottom)
	for _, v := range y.ticks() {
		at := y.at(v)
		on.polyline([]Point{{left, at}, {right, at}}, stroke{colour: Faint, width: 1, opacity: 0.35})
		on.text(left-6, at+4, y.label(v), textStyle{colour: Ink, size: textSize, anchor: atEnd})
	}
	for _, v := range x.ticks() {
		at := x.at(v)
		on.polyline([]Point{{at, bottom}, {at, bottom + 4}}, stroke{colour: Ink, width: 1, opacity: 1})
		on.text(at, bottom+17, x.label(v), textStyle{colour: Ink, size: textSize, anchor: atMiddle})
	}
	on.polyline([]Point{{left, top}, {left, bottom}, {right, bottom}}, stroke{colour: Ink, width: 1, opacity: 1})
	on.text((left+right)/2, bottom+34, c.X.Label, textStyle{colour: Ink, size: textSize, anchor: atMiddle})
	on.text(13, (top+bottom)/2, c.Y.Label, textStyle{colour: Ink, size: textSize, anchor: atMiddle, upward: true})
	for i, l := range c.Lines {
		s := stroke{colour: l.Colour, width: 2, opacity: 1, dashed: l.Dashed}
		if l.Thin {
			s.width, s.opacity = 1.2, 0.7
		}
		for _, part := range place(l.Points, x, y) {
			on.polyline(part, s)
		}
		for _, at := range l.marked(x, y, i) {
			l.Mark.draw(on, at, l.Colour)
		}
	}
	for _, r := range c.Rules {
		if !finite(r.At) || r.Upright && (r.At < x.from || r.At > x.to) || !r.Upright && (r.At < y.from || r.At > y.to) {
			continue
		}
		ends := []Point{{left, y.at(r.At)}, {right, y.at(r.At)}}
		if r.Upright {
			ends = []Point{{x.at(r.At), top}, {x.at(r.At), bottom}}
		}
		on.polyline(ends, stroke{colour: r.Colour, width: 2, opacity: 0.9, dashed: r.Dashed})
	}
}

// place gives the pixels of a line, in parts where values are missing. Of points that
// stand in line with their neighbours to a third of a pixel only the ends are kept.
func place(points []Point, x, y scale) (parts [][]Point) {
	var part []Point
	flush := func() {
		if len(part) > 1 {
			parts = append(parts, part)
		}
		part = nil
	}
	for _, p := range points {
		if !finite(p.X) || !finite(p.Y) {
			flush()
			continue
		}
		if p.X < x.from || p.X > x.to {
			continue
		}
		at := Point{x.at(p.X), y.at(max(min(p.Y, y.to), y.from))}
		if n := len(part); n >= 2 && inLine(part[n-2], part[n-1], at) {
			part[n-1] = at
			continue
		}
		part = append(part, at)
	}
	flush()
	return parts
}

// inLine says whether b is within a third of a pixel of the line from a to c, and
// no further than a few pixels from it: errors must not add up.
func inLine(a, b, c Point) bool {
	if c.X <= a.X || c.X-a.X > 40 {
		return false
	}
	return math.Abs(a.Y+(c.Y-a.Y)*(b.X-a.X)/(c.X-a.X)-b.Y) < 0.33
}
