package plot

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
)

// CSS is the style sheet of figures that stand in a page. The page decides by the
// custom properties --ink, --faint, --paper and --c0 to --c7, which CSS sets for
// light and dark; on paper they are as for light.
func CSS() string {
	return `:root{` + palette(false) + `}
@media (prefers-color-scheme:dark){:root{` + palette(true) + `}}
@media print{:root{` + palette(false) + `}}
` + shapes + classes(func(name string) string { return "var(--" + name + ")" })
}

// shapes are the rules that have nothing to do with colours.
const shapes = `.fig path{fill:none;stroke-linejoin:round}
.fig text{font-family:system-ui,"DejaVu Sans",sans-serif}
.fig .b{font-weight:600}
`

// plainColours gives the colours on light paper by their names.
func plainColours() func(name string) string {
	table := make(map[string]string)
	for entry := range strings.SplitSeq(palette(false), ";") {
		name, value, _ := strings.Cut(entry, ":")
		table[strings.TrimPrefix(name, "--")] = value
	}
	return func(name string) string { return table[name] }
}

// palette are the colours: Okabe and Ito's, which most who are colour-blind can tell
// apart, the first two as in the thesis's figures (Wi-Fi blue, LTE orange); lighter
// ones on dark paper.
func palette(dark bool) string {
	names := [...]string{"#0a66c2", "#e07800", "#00835c", "#b04a8b", "#5a5a5a", "#a6761d", "#56a0d3", "#c23b22"}
	ink, faint, paper := "#1c1c1c", "#8a8a8a", "#ffffff"
	if dark {
		names = [...]string{"#6cb6ff", "#ffa657", "#4cc38a", "#e29fd0", "#b8b8b8", "#d9b36c", "#9ed0f0", "#ff8a75"}
		ink, faint, paper = "#e6e6e6", "#8b8b8b", "#16181c"
	}
	text := "--ink:" + ink + ";--faint:" + faint + ";--paper:" + paper
	for i, c := range names[:colours] {
		text += ";--c" + strconv.Itoa(i) + ":" + c
	}
	return text
}

// classes are the rules for each colour: s0 is a stroke, f0 a fill; k and g are Ink
// and Faint.
func classes(colour func(name string) string) string {
	var b bytes.Buffer
	for c := Faint; c < colours; c++ {
		fmt.Fprintf(&b, ".fig .s%s{stroke:%s}.fig .f%s{fill:%s}\n", class(c), colour(property(c)), class(c), colour(property(c)))
	}
	return b.String()
}

// class is the end of a colour's classes.
func class(c Colour) string {
	switch {
	case c == Ink:
		return "k"
	case c < 0:
		return "g"
	}
	return strconv.Itoa(int(c) % colours)
}

// property is the name of a colour in the palette.
func property(c Colour) string {
	switch {
	case c == Ink:
		return "ink"
	case c < 0:
		return "faint"
	}
	return "c" + class(c)
}

// AppendSVG appends a figure as an svg element, to stand in a page that has [CSS].
func AppendSVG(out []byte, f Figure) []byte {
	out = fmt.Appendf(out, `<svg class="fig" role="img" aria-label="%s" viewBox="0 0 %g %g" xmlns="http://www.w3.org/2000/svg">`,
		html.EscapeString(printable(f.name())), chartWidth, f.height(chartWidth))
	s := svg{out: out}
	f.draw(&s, chartWidth)
	return append(s.out, "</svg>\n"...)
}

// WriteSVG writes figures as one SVG file, on white. Its colours are written out: few
// programs but browsers know custom properties.
func WriteSVG(w io.Writer, figures []Figure, sheet Sheet) error {
	places, width, height := sheet.arrange(figures)
	out := fmt.Appendf(nil, `<svg class="fig" xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g">`+"\n<style>\n%s%s</style>\n",
		width, height, width, height, shapes, classes(plainColours()))
	out = append(out, `<rect style="fill:#ffffff" width="100%" height="100%"/>`+"\n"...)
	for i, f := range figures {
		out = fmt.Appendf(out, `<g transform="translate(%g %g) scale(%g)">`, places[i].X, places[i].Y, sheet.scale())
		s := svg{out: out}
		f.draw(&s, sheet.width())
		out = append(s.out, "</g>\n"...)
	}
	out = append(out, "</svg>\n"...)
	_, err := w.Write(out)
	return err
}

// svg is a canvas that writes elements.
type svg struct{ out []byte }

func (s *svg) number(x float64) {
	s.out = strconv.AppendFloat(s.out, float64(int64(x*10+0.5*sign(x)))/10, 'f', -1, 64)
}

func sign(x float64) float64 {
	if x < 0 {
		return -1
	}
	return 1
}

// attribute writes an attribute that is a number.
func (s *svg) attribute(name string, x float64) {
	s.out = append(s.out, ` `+name+`="`...)
	s.number(x)
	s.out = append(s.out, '"')
}

func (s *svg) opacity(o float64) {
	if o < 1 {
		s.out = fmt.Appendf(s.out, ` opacity="%g"`, o)
	}
}

func (s *svg) polyline(points []Point, st stroke) {
	s.out = append(s.out, `<path class="s`+class(st.colour)+`"`...)
	s.attribute("stroke-width", st.width)
	s.opacity(st.opacity)
	if st.dashed {
		s.out = append(s.out, ` stroke-dasharray="6 4"`...)
	}
	s.out = append(s.out, ` d="`...)
	for i, p := range points {
		s.out = append(s.out, "ML"[min(i, 1)])
		s.number(p.X)
		s.out = append(s.out, ' ')
		s.number(p.Y)
	}
	s.out = append(s.out, `"/>`...)
}

func (s *svg) rect(x, y, width, height float64, c Colour, opacity float64) {
	s.out = append(s.out, `<rect class="f`+class(c)+`"`...)
	s.attribute("x", x)
	s.attribute("y", y)
	s.attribute("width", max(width, 0))
	s.attribute("height", height)
	s.opacity(opacity)
	s.out = append(s.out, `/>`...)
}

func (s *svg) text(x, y float64, text string, t textStyle) {
	name := "f" + class(t.colour)
	if t.bold {
		name += " b"
	}
	s.out = append(s.out, `<text class="`+name+`"`...)
	s.attribute("font-size", t.size)
	if t.anchor != atStart {
		s.out = append(s.out, ` text-anchor="`+[...]string{"start", "middle", "end"}[t.anchor]+`"`...)
	}
	s.attribute("x", x)
	s.attribute("y", y)
	if t.upward {
		s.out = append(s.out, ` transform="rotate(-90 `...)
		s.number(x)
		s.out = append(s.out, ' ')
		s.number(y)
		s.out = append(s.out, `)"`...)
	}
	s.out = append(s.out, '>')
	s.out = append(s.out, html.EscapeString(printable(text))...)
	s.out = append(s.out, "</text>"...)
}
