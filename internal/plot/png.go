package plot

import (
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"strconv"

	"golang.org/x/image/vector"
)

const (
	// pngScale is how many pixels of an image stand for one of CSS: figures are to be
	// sharp on paper and on phones.
	pngScale = 2
	// maxPixels bounds an image: 100 MB of memory.
	maxPixels = 25 << 20
)

// WritePNG writes figures as one PNG on white. Its error is ErrTooLarge, or that of w.
func WritePNG(w io.Writer, figures []Figure, sheet Sheet) error {
	places, width, height := sheet.arrange(figures)
	size := image.Rect(0, 0, int(math.Ceil(width*pngScale)), int(math.Ceil(height*pngScale)))
	if size.Dx()*size.Dy() > maxPixels {
		return fmt.Errorf("%w: %d by %d pixels", ErrTooLarge, size.Dx(), size.Dy())
	}
	face, err := loadFont()
	if err != nil {
		return err
	}
	r := &raster{image: image.NewRGBA(size), scale: pngScale * sheet.scale(), font: face}
	for i := range r.image.Pix { // white
		r.image.Pix[i] = 0xff
	}
	for i, f := range figures {
		r.origin = Point{places[i].X * pngScale, places[i].Y * pngScale}
		f.draw(r, sheet.width())
	}
	return encodePNG(w, r.image)
}

// raster is a canvas of pixels.
type raster struct {
	image  *image.RGBA
	origin Point   // of the figure, in pixels of the image
	scale  float64 // pixels of the image to one of the figure
	font   *typeface
}

// rgba is a colour on white paper.
func rgba(c Colour, opacity float64) color.NRGBA {
	table := plainColours()
	n, err := strconv.ParseUint(table(property(c))[1:], 16, 32)
	if err != nil {
		n = 0 // cannot be: palette has the form
	}
	return color.NRGBA{uint8(n >> 16), uint8(n >> 8), uint8(n), uint8(math.Round(255 * min(max(opacity, 0), 1)))} //nolint:gosec // a byte of three
}

// pixel is where a point of a figure stands in the image.
func (r *raster) pixel(p Point) Point {
	return Point{p.X*r.scale + r.origin.X, p.Y*r.scale + r.origin.Y}
}

func (r *raster) polyline(points []Point, s stroke) {
	if s.dashed {
		for _, dash := range dashes(points, 6, 4) {
			r.stroke(dash, s)
		}
		return
	}
	r.stroke(points, s)
}

// stroke fills each piece of a line as a rectangle, all turned the same way round, so
// that where they overlap nothing is darker.
func (r *raster) stroke(points []Point, s stroke) {
	if len(points) < 2 {
		return
	}
	half := s.width * r.scale / 2
	low, high := r.pixel(points[0]), r.pixel(points[0])
	for _, p := range points {
		at := r.pixel(p)
		low = Point{min(low.X, at.X), min(low.Y, at.Y)}
		high = Point{max(high.X, at.X), max(high.Y, at.Y)}
	}
	area := image.Rect(int(low.X-half)-1, int(low.Y-half)-1, int(high.X+half)+2, int(high.Y+half)+2).Intersect(r.image.Bounds())
	if area.Empty() {
		return
	}
	v := vector.NewRasterizer(area.Dx(), area.Dy())
	offset := Point{float64(area.Min.X), float64(area.Min.Y)}
	for i := 1; i < len(points); i++ {
		a, b := r.pixel(points[i-1]), r.pixel(points[i])
		length := math.Hypot(b.X-a.X, b.Y-a.Y)
		if length == 0 {
			continue
		}
		// Half the width to the side, and ahead at both ends for the joints.
		dx, dy := (b.X-a.X)/length*half, (b.Y-a.Y)/length*half
		joint := 0.5
		ax, ay, bx, by := a.X-dx*joint, a.Y-dy*joint, b.X+dx*joint, b.Y+dy*joint
		quad := [4]Point{{ax - dy, ay + dx}, {bx - dy, by + dx}, {bx + dy, by - dx}, {ax + dy, ay - dx}}
		v.MoveTo(float32(quad[0].X-offset.X), float32(quad[0].Y-offset.Y))
		for _, q := range quad[1:] {
			v.LineTo(float32(q.X-offset.X), float32(q.Y-offset.Y))
		}
		v.ClosePath()
	}
	v.Draw(r.image, area, image.NewUniform(rgba(s.colour, s.opacity)), image.Point{})
}

// dashes cuts a line into pieces of length on, with gaps of length off.
func dashes(points []Point, on, off float64) (pieces [][]Point) {
	var piece []Point
	drawing, left := true, on
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		for {
			length := math.Hypot(b.X-a.X, b.Y-a.Y)
			if drawing && len(piece) == 0 {
				piece = append(piece, a)
			}
			if length <= left {
				left -= length
				if drawing {
					piece = append(piece, b)
				}
				break
			}
			a = Point{a.X + (b.X-a.X)*left/length, a.Y + (b.Y-a.Y)*left/length}
			if drawing {
				pieces = append(pieces, append(piece, a))
				piece = nil
			}
			drawing = !drawing
			left = off
			if drawing {
				left = on
			}
		}
	}
	if len(piece) > 1 {
		pieces = append(pieces, piece)
	}
	return pieces
}

func (r *raster) rect(x, y, width, height float64, c Colour, opacity float64) {
	a, b := r.pixel(Point{x, y}), r.pixel(Point{x + max(width, 0), y + height})
	area := image.Rect(int(math.Round(a.X)), int(math.Round(a.Y)), int(math.Round(b.X)), int(math.Round(b.Y)))
	area = area.Intersect(r.image.Bounds())
	if area.Empty() {
		return
	}
	v := vector.NewRasterizer(area.Dx(), area.Dy())
	right, bottom := float32(area.Dx()), float32(area.Dy())
	v.LineTo(right, 0)
	v.LineTo(right, bottom)
	v.LineTo(0, bottom)
	v.ClosePath()
	v.Draw(r.image, area, image.NewUniform(rgba(c, opacity)), image.Point{})
}

func (r *raster) text(x, y float64, s string, t textStyle) {
	var glyphs []glyphID
	units := 0
	for _, c := range printable(s) {
		g := r.font.glyph(c)
		glyphs = append(glyphs, g)
		units += r.font.advance(g)
	}
	scale := t.size * r.scale / float64(r.font.em) // pixels to a unit of the font
	length := float64(units) * scale
	l := textLine{glyphs: glyphs, scale: scale, length: length, at: r.pixel(Point{x, y}), upward: t.upward}
	l.along = -[...]float64{0, 0.5, 1}[t.anchor] * length
	r.line(l, t.colour)
	if t.bold { // once more, a little to the side: a font of its own would weigh too much
		l.along += 0.7
		r.line(l, t.colour)
	}
}

// textLine is a text in pixels.
type textLine struct {
	glyphs []glyphID
	scale  float64 // pixels to a unit of the font
	length float64
	at     Point   // of the image, on the text's base line
	along  float64 // how far from there the text begins
	upward bool    // it reads upwards
}

// place is where a point stands that is x along the text and y above its base line.
func (l textLine) place(x, y float64) Point {
	if l.upward {
		return Point{l.at.X - y, l.at.Y - l.along - x}
	}
	return Point{l.at.X + l.along + x, l.at.Y - y}
}

func (r *raster) line(l textLine, c Colour) {
	// Glyphs stand out of their line by less than twice the size, and to its sides by less than it.
	em := l.scale * float64(r.font.em)
	a, b := l.place(-em, -2*em), l.place(l.length+em, 2*em)
	area := image.Rect(int(a.X), int(a.Y), int(b.X), int(b.Y)).Inset(-1).Intersect(r.image.Bounds())
	if area.Empty() {
		return
	}
	l.at = Point{l.at.X - float64(area.Min.X), l.at.Y - float64(area.Min.Y)}
	v := vector.NewRasterizer(area.Dx(), area.Dy())
	along := 0.0
	for _, g := range l.glyphs {
		r.font.draw(v, g, func(x, y float64) (float32, float32) {
			p := l.place(along+x*l.scale, y*l.scale)
			return float32(p.X), float32(p.Y)
		})
		along += l.scale * float64(r.font.advance(g))
	}
	v.Draw(r.image, area, image.NewUniform(rgba(c, 1)), image.Point{})
}
