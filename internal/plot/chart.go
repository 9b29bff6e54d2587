package plot

import "math"

// The sizes of a chart, in pixels. It is small enough to be read on a phone that is
// held upright, and two of them stand side by side on a screen.
const (
	chartWidth  = 480.0
	chartHeight = 300.0
	titleSize   = 14.0
	textSize    = 12.0
	keyHeight   = 16.0
	marginLeft  = 52.0
	marginRight = 12.0
)

func (c *Chart) name() string { return c.Title }

func (c *Chart) size() (width, height float64) {
	return chartWidth, chartHeight + keyHeight*float64(len(c.Keys))
}

// head draws title and keys, and gives the height that they take.
func head(on canvas, title string, keys []Key, width float64) float64 {
	on.text(8, 18, fit(title, titleSize, width-16), textStyle{colour: Ink, size: titleSize, bold: true})
	y := 26.0
	for _, k := range keys {
		mid := y + keyHeight/2
		on.polyline([]Point{{8, mid}, {28, mid}}, stroke{colour: k.Colour, width: 3, opacity: 1, dashed: k.Dashed})
		on.text(34, mid+4, fit(k.Text, textSize, width-42), textStyle{colour: Ink, size: textSize})
		y += keyHeight
	}
	return y
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
	x = newScale(lowX, highX, 7, left, right)
	// A time axis ends where the data do: half a figure of nothing tells nothing.
	x.to, x.from = max(highX, lowX+x.step/10), lowX
	return x, newScale(0, highY*1.02, 5, bottom, top)
}

// ticksWithin are the ticks of a scale that does not begin at one.
func (s scale) ticksWithin() (values []float64) {
	for v := math.Ceil(s.from/s.step-1e-9) * s.step; v <= s.to+s.step*1e-6 && len(values) < 50; v += s.step {
		values = append(values, v)
	}
	return values
}

func (c *Chart) draw(on canvas) {
	width, height := c.size()
	top := head(on, c.Title, c.Keys, width) + 8
	left, right, bottom := marginLeft, width-marginRight, height-40
	x, y := c.scales(left, right, top, bottom)
	for _, v := range y.ticks() {
		at := y.at(v)
		on.polyline([]Point{{left, at}, {right, at}}, stroke{colour: Faint, width: 1, opacity: 0.35})
		on.text(left-6, at+4, y.label(v), textStyle{colour: Ink, size: textSize, anchor: atEnd})
	}
	for _, v := range x.ticksWithin() {
		at := x.at(v)
		on.polyline([]Point{{at, bottom}, {at, bottom + 4}}, stroke{colour: Ink, width: 1, opacity: 1})
		on.text(at, bottom+17, x.label(v), textStyle{colour: Ink, size: textSize, anchor: atMiddle})
	}
	on.polyline([]Point{{left, top}, {left, bottom}, {right, bottom}}, stroke{colour: Ink, width: 1, opacity: 1})
	on.text((left+right)/2, height-6, c.X.Label, textStyle{colour: Ink, size: textSize, anchor: atMiddle})
	on.text(13, (top+bottom)/2, c.Y.Label, textStyle{colour: Ink, size: textSize, anchor: atMiddle, upward: true})
	for _, l := range c.Lines {
		s := stroke{colour: l.Colour, width: 2, opacity: 1, dashed: l.Dashed}
		if l.Thin {
			s.width, s.opacity = 1.2, 0.7
		}
		for _, part := range place(l.Points, x, y) {
			on.polyline(part, s)
		}
	}
	for _, r := range c.Rules {
		if !finite(r.At) {
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
		at := Point{x.at(p.X), y.at(min(p.Y, y.to))}
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
