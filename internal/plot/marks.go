package plot

import "math"

const (
	markRadius = 3.2
	// markEvery is how many pixels lie between two marks of a line at least: where they
	// stand closer, they hide it.
	markEvery = 34.0
)

// marked are the places of a line's marks. Those of several lines begin at different
// points, so as not to hide each other.
func (l Line) marked(x, y scale, n int) (places []Point) {
	if l.Mark <= 0 {
		return nil
	}
	next := x.a + float64(n%4)*markEvery/4
	for _, p := range l.Points {
		if !finite(p.X) || !finite(p.Y) || p.X < x.from || p.X > x.to || p.Y < y.from || p.Y > y.to {
			continue
		}
		if at := x.at(p.X); at >= next {
			places = append(places, Point{at, y.at(p.Y)})
			next = at + markEvery
		}
	}
	return places
}

// draw draws a mark around a point.
func (m Mark) draw(on canvas, at Point, c Colour) {
	if m <= 0 {
		return
	}
	s := stroke{colour: c, width: 1.6, opacity: 1}
	// A regular polygon is a shape, and a star of strokes is one.
	polygon := func(corners int, turn float64) {
		var outline []Point
		for i := range corners + 1 {
			a := turn + 2*math.Pi*float64(i)/float64(corners)
			outline = append(outline, Point{at.X + markRadius*math.Cos(a), at.Y + markRadius*math.Sin(a)})
		}
		on.polyline(outline, s)
	}
	star := func(strokes int, turn float64) {
		for i := range strokes {
			a := turn + math.Pi*float64(i)/float64(strokes)
			dx, dy := markRadius*math.Cos(a), markRadius*math.Sin(a)
			on.polyline([]Point{{at.X - dx, at.Y - dy}, {at.X + dx, at.Y + dy}}, s)
		}
	}
	switch (m - 1) % Marks {
	case 0:
		polygon(12, 0) // a circle
	case 1:
		polygon(4, math.Pi/4) // a square
	case 2:
		polygon(3, -math.Pi/2) // a triangle
	case 3:
		star(2, math.Pi/4) // a cross
	case 4:
		polygon(4, 0) // a diamond
	case 5:
		star(2, 0) // a plus
	case 6:
		polygon(3, math.Pi/2) // a triangle upside down
	default:
		star(3, math.Pi/6)
	}
}
