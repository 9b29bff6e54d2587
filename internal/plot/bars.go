package plot

const (
	rowHeight  = 34.0
	nameWidth  = 150.0
	barsMargin = 44.0 // for an axis above or below
)

func (b *Bars) name() string { return b.Title }

func (b *Bars) size() (width, height float64) {
	height = 34 + keyHeight*float64(len(b.Keys)) + rowHeight*float64(len(b.Rows)) + barsMargin
	if b.Thin.Label != "" {
		height += barsMargin - 6
	}
	return chartWidth, height
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

func (b *Bars) draw(on canvas) {
	width, height := b.size()
	top := head(on, b.Title, b.Keys, width) + 8
	left, right, bottom := nameWidth, width-marginRight-8, height-barsMargin
	high, highThin := b.highest()
	wide := newScale(0, high, 6, left, right)
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
		b.row(on, r, wide, thin, top+rowHeight*float64(i))
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
	mid := y + rowHeight/2
	on.text(nameWidth-6, mid+4, fit(r.Name, textSize, nameWidth-10), textStyle{colour: Ink, size: textSize, anchor: atEnd})
	if finite(r.Wide) {
		on.rect(wide.a, y+4, wide.at(r.Wide)-wide.a, rowHeight-8, Faint, 0.4)
	}
	var shown int
	for _, t := range r.Thin {
		if finite(t.Value) {
			shown++
		}
	}
	at := mid - float64(shown)*3.5
	for _, t := range r.Thin {
		if finite(t.Value) {
			on.rect(thin.a, at+0.5, thin.at(t.Value)-thin.a, 6, t.Colour, 1)
			at += 7
		}
	}
	if r.Box != nil {
		r.Box.draw(on, wide, mid)
	}
}

// draw draws a box with whiskers to both ends.
func (b *Box) draw(on canvas, s scale, mid float64) {
	if !finite(b.Min) || !finite(b.Max) || !finite(b.Median) {
		return
	}
	line := stroke{colour: Ink, width: 1.2, opacity: 1}
	upright := func(v, half float64) { on.polyline([]Point{{s.at(v), mid - half}, {s.at(v), mid + half}}, line) }
	on.polyline([]Point{{s.at(b.Min), mid}, {s.at(b.P25), mid}}, line)
	on.polyline([]Point{{s.at(b.P75), mid}, {s.at(b.Max), mid}}, line)
	upright(b.Min, 5)
	upright(b.Max, 5)
	on.polyline([]Point{
		{s.at(b.P25), mid - 9}, {s.at(b.P75), mid - 9}, {s.at(b.P75), mid + 9}, {s.at(b.P25), mid + 9}, {s.at(b.P25), mid - 9},
	}, line)
	line.width = 2.4
	upright(b.Median, 9)
}
