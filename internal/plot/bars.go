package plot

const (
	boxHeight  = 12.0
	thinHeight = 7.0
	nameHeight = 16.0
	barsMargin = 44.0 // for an axis above or below
	barsLeft   = 16.0
	barsRight  = 24.0
)

func (b *Bars) name() string { return b.Title }

// rowHeight is room for a name, a box, thin bars below it, and some space: they must not
// hide each other.
func (b *Bars) rowHeight() float64 {
	thin := 1
	for _, r := range b.Rows {
		thin = max(thin, len(r.Thin))
	}
	return nameHeight + boxHeight + thinHeight*float64(thin) + 12
}

func (b *Bars) height(width float64) float64 {
	height := head(b.Title, b.Keys, width).height + 8 + b.rowHeight()*float64(len(b.Rows)) + barsMargin
	if b.Thin.Label != "" {
		height += barsMargin - 6
	}
	return height
}

// highest is the highest value of wide bars and boxes, and that of thin bars.
func (b *Bars) highest() (wide, thin float64) {
	wide, thin = b.Wide.Max, b.Thin.Max
	for _, r := range b.Rows {
		if finite(r.Wide) {
			wide = max(wide, r.Wide)
		}
		if r.Box != nil && finite(r.Box.Max) {
			wide = max(wide, r.Box.Max)
		}
		for _, t := range r.Thin {
			if finite(t.Value) {
				thin = max(thin, t.Value)
			}
		}
	}
	if b.Thin.Label == "" {
		wide = max(wide, thin)
	}
	return wide, thin
}

func (b *Bars) draw(on canvas, width float64) {
	h := head(b.Title, b.Keys, width)
	h.draw(on)
	top := h.height + 8
	left, right, bottom := barsLeft, width-barsRight, b.height(width)-barsMargin
	high, highThin := b.highest()
	wide := b.Wide.scale(0, high, 6, left, right)
	thin := wide
	if b.Thin.Label != "" {
		top += barsMargin - 6
		thin = newScale(0, highThin, 6, left, right)
		b.axis(on, thin, b.Thin.Label, top, -1)
	}
	for _, v := range wide.ticks() {
		on.polyline([]Point{{wide.at(v), top}, {wide.at(v), bottom}}, stroke{colour: Faint, width: 1, opacity: 0.35})
	}
	b.axis(on, wide, b.Wide.Label, bottom, 1)
	for i, r := range b.Rows {
		b.row(on, r, wide, thin, top+b.rowHeight()*float64(i))
	}
	on.polyline([]Point{{left, top}, {left, bottom}}, stroke{colour: Ink, width: 1, opacity: 1})
}

// axis draws ticks and their labels above (-1) or below (1) a line at y.
func (b *Bars) axis(on canvas, s scale, label string, y, side float64) {
	on.polyline([]Point{{s.a, y}, {s.b, y}}, stroke{colour: Ink, width: 1, opacity: 1})
	tick, text := y+17, y+33
	if side < 0 {
		tick, text = y-8, y-24
	}
	for _, v := range s.ticks() {
		on.polyline([]Point{{s.at(v), y}, {s.at(v), y + 4*side}}, stroke{colour: Ink, width: 1, opacity: 1})
		on.text(s.at(v), tick, s.label(v), textStyle{colour: Ink, size: textSize, anchor: atMiddle})
	}
	on.text((s.a+s.b)/2, text, label, textStyle{colour: Ink, size: textSize, anchor: atMiddle})
}

func (b *Bars) row(on canvas, r Row, wide, thin scale, y float64) {
	on.text(wide.a+4, y+nameHeight-2, fit(r.Name, textSize, wide.b-wide.a), textStyle{colour: Ink, size: textSize})
	y += nameHeight
	if finite(r.Wide) {
		on.rect(wide.a, y+2, wide.within(r.Wide)-wide.a, b.rowHeight()-nameHeight-6, Faint, 0.4)
	}
	at := y + 6 + boxHeight
	for _, t := range r.Thin {
		if finite(t.Value) {
			on.rect(thin.a, at, thin.within(t.Value)-thin.a, thinHeight-1, t.Colour, 1)
			at += thinHeight
		}
	}
	if r.Box != nil {
		r.Box.draw(on, wide, y+4+boxHeight/2)
	}
}

// draw draws a box with whiskers to both ends.
func (b *Box) draw(on canvas, s scale, mid float64) {
	if !finite(b.Min) || !finite(b.Max) || !finite(b.Median) {
		return
	}
	const half = boxHeight / 2
	at := s.within // what is beyond is at the edge
	line := stroke{colour: Ink, width: 1.2, opacity: 1}
	upright := func(v, h float64) { on.polyline([]Point{{at(v), mid - h}, {at(v), mid + h}}, line) }
	on.polyline([]Point{{at(b.Min), mid}, {at(b.P25), mid}}, line)
	on.polyline([]Point{{at(b.P75), mid}, {at(b.Max), mid}}, line)
	upright(b.Min, 3)
	upright(b.Max, 3)
	on.polyline([]Point{
		{at(b.P25), mid - half}, {at(b.P75), mid - half}, {at(b.P75), mid + half}, {at(b.P25), mid + half}, {at(b.P25), mid - half},
	}, line)
	line.width = 2.4
	upright(b.Median, half)
}
