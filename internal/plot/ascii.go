package plot

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Sketch draws a chart with characters, for a terminal of so many columns, or a row
// of bars for each row of Bars. Of several lines in one place the last one is seen;
// lines are told apart by their character, which the keys name.
func Sketch(w io.Writer, f Figure, columns int) error {
	columns = min(max(columns, 40), 200)
	var text string
	switch f := f.(type) {
	case *Chart:
		text = f.sketch(columns)
	case *Bars:
		text = f.sketch(columns)
	}
	_, err := io.WriteString(w, text)
	return err
}

// marks are the characters of the colours.
const (
	marks       = "*+ox#%@="
	sketchRows  = 12
	sketchLabel = 8
)

func mark(c Colour) byte {
	if c < 0 { // what is not drawn here: level lines
		return ' '
	}
	return marks[int(c)%len(marks)]
}

func (c *Chart) sketch(columns int) string {
	width := columns - sketchLabel - 2
	x, y := c.scales(0, float64(width-1), 0, sketchRows-1)
	cells := make([][]byte, sketchRows)
	for i := range cells {
		cells[i] = []byte(strings.Repeat(" ", width))
	}
	put := func(px, py float64, ch byte) {
		col, row := int(math.Round(px)), int(math.Round(py))
		if col >= 0 && col < width && row >= 0 && row < sketchRows {
			cells[row][col] = ch
		}
	}
	for _, r := range c.Rules {
		if r.Upright && finite(r.At) {
			for row := range sketchRows {
				put(x.at(r.At), float64(row), '|')
			}
		}
	}
	// One level for each column and colour: the median of all lines' there.
	for _, colour := range c.colours() {
		for col := range width {
			if v := c.level(colour, x, col); finite(v) {
				put(float64(col), y.at(v), mark(colour))
			}
		}
	}
	var b strings.Builder
	b.WriteString(printable(c.Title) + "\n")
	for _, k := range c.Keys {
		if k.Mark > 0 { // lines of one colour are one here
			continue
		}
		fmt.Fprintf(&b, "  %c  %s\n", mark(k.Colour), printable(k.Text))
	}
	fmt.Fprintf(&b, "%s\n", printable(c.Y.Label))
	for i, row := range cells {
		label := ""
		switch i {
		case 0:
			label = y.label(y.to)
		case sketchRows - 1:
			label = y.label(y.from)
		}
		fmt.Fprintf(&b, "%*s |%s\n", sketchLabel-1, label, strings.TrimRight(string(row), " "))
	}
	fmt.Fprintf(&b, "%*s +%s\n", sketchLabel-1, "", strings.Repeat("-", width))
	from, to := x.label(x.from), fmt.Sprintf("%.1f", x.to)
	fmt.Fprintf(&b, "%*s%s%*s\n\n", sketchLabel+1, "", from, width-len(from), to+" "+printable(c.X.Label))
	return b.String()
}

// colours are those of the chart's lines, in their order.
func (c *Chart) colours() (list []Colour) {
	for _, l := range c.Lines {
		if !slices.Contains(list, l.Colour) {
			list = append(list, l.Colour)
		}
	}
	return list
}

// level is the median of the lines of a colour in a column; NaN where there are none.
func (c *Chart) level(colour Colour, x scale, column int) float64 {
	var values []float64
	for _, l := range c.Lines {
		if l.Colour != colour {
			continue
		}
		if v := l.at(x.from + (float64(column)/x.b)*(x.to-x.from)); finite(v) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// at is the line's value at x, between the points on either side; NaN beyond its ends.
func (l Line) at(x float64) float64 {
	i, found := slices.BinarySearchFunc(l.Points, x, func(p Point, x float64) int {
		switch {
		case p.X < x:
			return -1
		case p.X > x:
			return 1
		}
		return 0
	})
	switch {
	case found:
		return l.Points[i].Y
	case i == 0 || i == len(l.Points):
		return math.NaN()
	}
	a, b := l.Points[i-1], l.Points[i]
	return a.Y + (b.Y-a.Y)*(x-a.X)/(b.X-a.X)
}

func (b *Bars) sketch(columns int) string {
	name := 0
	for _, r := range b.Rows {
		name = max(name, len([]rune(printable(r.Name))))
	}
	name = min(name, columns/3)
	wide, _ := b.highest()
	width := columns - name - 14
	var s strings.Builder
	s.WriteString(printable(b.Title) + "\n")
	for _, r := range b.Rows {
		label := []rune(printable(r.Name))
		if len(label) > name {
			label = append(label[:name-1], '~')
		}
		text, bar := "-", ""
		if finite(r.Wide) && wide > 0 {
			text = fmt.Sprintf("%.2f", r.Wide)
			bar = strings.Repeat("#", max(0, int(math.Round(r.Wide/wide*float64(width)))))
		}
		s.WriteString(strings.TrimRight(fmt.Sprintf("%s%s %10s %s", strings.Repeat(" ", name-len(label)), string(label), text, bar), " ") + "\n")
	}
	fmt.Fprintf(&s, "%*s %s\n\n", name, "", printable(b.Wide.Label))
	return s.String()
}
