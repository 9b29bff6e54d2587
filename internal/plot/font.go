package plot

import (
	"bytes"
	"compress/zlib"
	_ "embed" // for the font
	"encoding/binary"
	"fmt"
	"io"
)

// packedFont is the Go Regular font (golang.org/x/image/font/gofont, under Go's licence)
// without hints and names, compressed with zlib. TestFontIsGoRegular makes it: the font as it
// is, and x/image/font, which reads all fonts, would weigh a third of a megabyte.
//
//go:embed goregular.ttf.zlib
var packedFont []byte //nolint:gochecknoglobals // the only form in which Go embeds files

// typeface is a TrueType font (ISO/IEC 14496-22) of the kind that packedFont is: offsets have
// 32 bits, characters stand in a table of format 4, compound glyphs are moved only.
type typeface struct {
	size                   int // of the file, in bytes
	em                     int // units to an em
	glyf, loca, hmtx, cmap []byte
	advances               int // glyphs with an advance of their own; the others have the last one's
}

// glyphID is a glyph's number in its font. 0 stands for characters that the font lacks.
type glyphID int

// outlinePoint is a corner of a glyph's outline, or the control point of a quadratic curve
// between its neighbours, in the font's units. y goes up.
type outlinePoint struct {
	x, y   int
	corner bool
}

// The numbers of a font file are big-endian.
func unsigned16(b []byte, at int) int { return int(binary.BigEndian.Uint16(b[at:])) }
func signed16(b []byte, at int) int   { return int(int16(binary.BigEndian.Uint16(b[at:]))) } //nolint:gosec // it is signed
func unsigned32(b []byte, at int) int { return int(binary.BigEndian.Uint32(b[at:])) }

// loadFont unpacks the font.
func loadFont() (*typeface, error) {
	z, err := zlib.NewReader(bytes.NewReader(packedFont))
	if err != nil {
		return nil, fmt.Errorf("font: %w", err)
	}
	file, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("font: %w", err)
	}
	table := fontTables(file)
	return &typeface{
		size: len(file), em: unsigned16(table["head"], 18),
		glyf: table["glyf"], loca: table["loca"], hmtx: table["hmtx"], cmap: table["cmap"][unsigned32(table["cmap"], 8):],
		advances: unsigned16(table["hhea"], 34),
	}, nil
}

// fontTables are a font file's tables by their names.
func fontTables(file []byte) map[string][]byte {
	tables := make(map[string][]byte)
	for i := range unsigned16(file, 4) {
		entry := file[12+16*i:]
		at := unsigned32(entry, 8)
		tables[string(entry[:4])] = file[at : at+unsigned32(entry, 12)]
	}
	return tables
}

// glyph is a character's glyph.
func (f *typeface) glyph(r rune) glyphID {
	twice := unsigned16(f.cmap, 6) // the number of segments, and so the bytes of one of four lists
	ends, starts, deltas, offsets := 14, 16+twice, 16+2*twice, 16+3*twice
	for i := 0; i < twice; i += 2 {
		switch start, offset := rune(unsigned16(f.cmap, starts+i)), unsigned16(f.cmap, offsets+i); {
		case r > rune(unsigned16(f.cmap, ends+i)):
			continue
		case r < start:
			return 0
		case offset == 0:
			return glyphID((int(r) + unsigned16(f.cmap, deltas+i)) & 0xffff)
		default: // counted from where it stands
			return glyphID(unsigned16(f.cmap, offsets+i+offset+2*int(r-start)))
		}
	}
	return 0
}

// drawn is a character's glyph, or the question mark's if the font lacks the character, and the
// character that it shows.
func (f *typeface) drawn(r rune) (glyphID, rune) {
	if g := f.glyph(r); g != 0 {
		return g, r
	}
	return f.glyph('?'), '?'
}

// advance is how far a glyph moves the next one, in the font's units.
func (f *typeface) advance(g glyphID) int { return unsigned16(f.hmtx, 4*min(int(g), f.advances-1)) }

// outline is a glyph's closed contours.
func (f *typeface) outline(g glyphID) [][]outlinePoint {
	b := f.glyf[unsigned32(f.loca, 4*int(g)):unsigned32(f.loca, 4*int(g)+4)]
	switch {
	case len(b) == 0: // a space
		return nil
	case signed16(b, 0) < 0:
		return f.compound(b[10:])
	}
	return simpleOutline(b)
}

// compound is the outline of a glyph that is made of others.
func (f *typeface) compound(b []byte) (all [][]outlinePoint) {
	const words, more = 0x1, 0x20
	for {
		flags, part := unsigned16(b, 0), f.outline(glyphID(unsigned16(b, 2)))
		dx, dy := int(int8(b[4])), int(int8(b[5])) //nolint:gosec // they are signed
		b = b[4:]
		if flags&words != 0 {
			dx, dy = signed16(b, 0), signed16(b, 2)
			b = b[2:]
		}
		b = b[2:]
		for _, contour := range part {
			for i := range contour {
				contour[i].x += dx
				contour[i].y += dy
			}
		}
		all = append(all, part...)
		if flags&more == 0 {
			return all
		}
	}
}

// simpleOutline reads a glyph that is made of contours.
func simpleOutline(b []byte) [][]outlinePoint {
	const corner, shortX, shortY, repeated, plusX, plusY = 1, 2, 4, 8, 16, 32
	contours := signed16(b, 0)
	last := unsigned16(b, 10+2*(contours-1)) // point
	ends := b[10:]
	b = b[10+2*contours+2:] // and the length of no hints
	flags := make([]byte, 0, last+1)
	for len(flags) <= last {
		flag, times := b[0], 1
		b = b[1:]
		if flag&repeated != 0 {
			times += int(b[0])
			b = b[1:]
		}
		flags = append(flags, bytes.Repeat([]byte{flag}, times)...)
	}
	points := make([]outlinePoint, last+1)
	// A coordinate is the difference from the one before: of one byte, whose sign is a flag, or
	// of two, or none, which a flag says as well.
	at := 0
	next := func(short, plus bool) int {
		switch {
		case short:
			n := int(b[0])
			b = b[1:]
			if !plus {
				n = -n
			}
			at += n
		case !plus:
			at += signed16(b, 0)
			b = b[2:]
		}
		return at
	}
	for i, flag := range flags {
		points[i] = outlinePoint{x: next(flag&shortX != 0, flag&plusX != 0), corner: flag&corner != 0}
	}
	at = 0
	for i, flag := range flags {
		points[i].y = next(flag&shortY != 0, flag&plusY != 0)
	}
	outline := make([][]outlinePoint, contours)
	begin := 0
	for i := range outline {
		end := unsigned16(ends, 2*i) + 1
		outline[i] = points[begin:end:end]
		begin = end
	}
	return outline
}

// pen draws a path; vector.Rasterizer is one.
type pen interface {
	MoveTo(x, y float32)
	LineTo(x, y float32)
	QuadTo(bx, by, cx, cy float32)
	ClosePath()
}

// draw draws a glyph's outline where place says that a point of it, in the font's units, stands.
func (f *typeface) draw(p pen, g glyphID, place func(x, y float64) (float32, float32)) {
	for _, contour := range f.outline(g) {
		drawContour(p, contour, place)
	}
}

// drawContour draws a closed contour. Between two control points there is a corner half-way,
// which is not written down.
func drawContour(p pen, points []outlinePoint, place func(x, y float64) (float32, float32)) {
	half := func(a, b outlinePoint) (x, y float32) {
		return place(float64(a.x+b.x)/2, float64(a.y+b.y)/2)
	}
	at := func(a outlinePoint) (x, y float32) { return place(float64(a.x), float64(a.y)) }
	first := points[0]
	startX, startY := at(first)
	if last := points[len(points)-1]; !first.corner {
		startX, startY = half(last, first)
		if last.corner {
			startX, startY = at(last)
			points = points[:len(points)-1]
		}
	} else {
		points = points[1:]
	}
	p.MoveTo(startX, startY)
	for i, a := range points {
		x, y := at(a)
		switch {
		case a.corner && (i == 0 || points[i-1].corner):
			p.LineTo(x, y)
		case a.corner: // the end of a curve that is drawn
		case i+1 == len(points):
			p.QuadTo(x, y, startX, startY)
		case points[i+1].corner:
			toX, toY := at(points[i+1])
			p.QuadTo(x, y, toX, toY)
		default:
			toX, toY := half(a, points[i+1])
			p.QuadTo(x, y, toX, toY)
		}
	}
	p.ClosePath()
}
