package plot

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"os"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

const packedName = "goregular.ttf.zlib"

// TestFontIsGoRegular holds the packed font against the module's, without what figures do not
// need; UPDATE_GOLDEN=1 writes it.
func TestFontIsGoRegular(t *testing.T) {
	want := lean(goregular.TTF)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		var b bytes.Buffer
		z, err := zlib.NewWriterLevel(&b, zlib.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = z.Write(want) // to memory
		_ = z.Close()
		if err := os.WriteFile(packedName, b.Bytes(), 0o644); err != nil { //nolint:gosec // it belongs to the source
			t.Fatal(err)
		}
	}
	packed, err := os.ReadFile(packedName)
	if err != nil {
		t.Fatal(err)
	}
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if _, err := got.ReadFrom(z); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s has %d bytes, want %d (%v): write it with UPDATE_GOLDEN=1", packedName, got.Len(), len(want), err)
	}
}

// lean is a TrueType font without hints, names and what only systems with windows read, and
// with offsets of 32 bits.
func lean(ttf []byte) []byte {
	old := fontTables(ttf)
	head := bytes.Clone(old["head"])
	var glyf, loca []byte
	for g := range unsigned16(old["maxp"], 4) {
		loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
		glyf = append(glyf, unhinted(old["glyf"][2*unsigned16(old["loca"], 2*g):2*unsigned16(old["loca"], 2*g+2)])...)
		glyf = append(glyf, make([]byte, -len(glyf)&3)...)
	}
	loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
	binary.BigEndian.PutUint16(head[50:], 1) // indexToLocFormat: 32 bits
	binary.BigEndian.PutUint32(head[8:], 0)  // checkSumAdjustment, until the others are known
	file := assemble([]fontTable{
		{"cmap", unicodeMap(old["cmap"])},
		{"glyf", glyf},
		{"head", head},
		{"hhea", old["hhea"]},
		{"hmtx", old["hmtx"]},
		{"loca", loca},
		{"maxp", old["maxp"]},
	})
	binary.BigEndian.PutUint32(fontTables(file)["head"][8:], 0xb1b0afba-sum32(file))
	return file
}

type fontTable struct {
	name string
	data []byte
}

// assemble makes a font file of its tables, which are in the order of their names.
func assemble(tables []fontTable) []byte {
	file := []byte{0, 1, 0, 0, 0, byte(len(tables)), 0, 64, 0, 2, 0, byte(16*len(tables) - 64)}
	at := len(file) + 16*len(tables)
	var body []byte
	for _, table := range tables {
		file = append(file, table.name...)
		for _, n := range []uint32{sum32(table.data), uint32(at + len(body)), uint32(len(table.data))} {
			file = binary.BigEndian.AppendUint32(file, n)
		}
		body = append(body, table.data...)
		body = append(body, make([]byte, -len(body)&3)...)
	}
	return append(file, body...)
}

// sum32 is the checksum of a table.
func sum32(b []byte) (sum uint32) {
	b = append(bytes.Clone(b), make([]byte, -len(b)&3)...)
	for ; len(b) > 0; b = b[4:] {
		sum += binary.BigEndian.Uint32(b)
	}
	return sum
}

// unicodeMap is a table of characters with the one of Windows' platform, format 4, alone.
func unicodeMap(cmap []byte) []byte {
	for i := range unsigned16(cmap, 2) {
		entry := cmap[4+8*i:]
		table := cmap[unsigned32(entry, 4):]
		if unsigned16(entry, 0) == 3 && unsigned16(table, 0) == 4 {
			return append([]byte{0, 0, 0, 1, 0, 3, 0, 1, 0, 0, 0, 12}, table[:unsigned16(table, 2)]...)
		}
	}
	panic("it has no characters of format 4")
}

// unhinted is a glyph without its instructions.
func unhinted(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	if contours := signed16(b, 0); contours >= 0 {
		at := 10 + 2*contours
		return append(append(bytes.Clone(b[:at]), 0, 0), b[at+2+unsigned16(b, at):]...)
	}
	const words, scaled, more, instructions = 0x1, 0x8 | 0x40 | 0x80, 0x20, 0x100
	b = bytes.Clone(b)
	for at := 10; ; {
		flags := unsigned16(b, at)
		if flags&scaled != 0 || flags&0x2 == 0 {
			panic("a compound glyph is more than moved")
		}
		binary.BigEndian.PutUint16(b[at:], uint16(flags&^instructions))
		at += 6 + 2*(flags&words)
		if flags&more == 0 {
			return b[:at]
		}
	}
}

// TestFontAgrees holds what is read of the packed font against what x/image/font/sfnt, which
// shares no code with it, reads of the whole one: characters, advances, outlines.
func TestFontAgrees(t *testing.T) {
	f, err := loadFont()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := sfnt.Parse(goregular.TTF)
	if err != nil {
		t.Fatal(err)
	}
	var scratch sfnt.Buffer
	em := fixed.Int26_6(f.em) // so that nothing is rounded
	found := 0
	for r := range rune(0x11000) {
		want, err := whole.GlyphIndex(&scratch, r)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.glyph(r); got != glyphID(want) {
			t.Fatalf("%q is glyph %d, want %d", r, got, want)
		}
		if want != 0 {
			found++
		}
	}
	if found < 600 {
		t.Errorf("it has %d characters only", found)
	}
	for g := range sfnt.GlyphIndex(whole.NumGlyphs()) {
		advance, err := whole.GlyphAdvance(&scratch, g, em, font.HintingNone)
		if err != nil || f.advance(glyphID(g)) != int(advance) {
			t.Errorf("glyph %d: advance %d, want %d (%v)", g, f.advance(glyphID(g)), advance, err)
		}
		segments, err := whole.LoadGlyph(&scratch, g, em, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got pathRecorder
		f.draw(&got, glyphID(g), func(x, y float64) (float32, float32) { return float32(x), float32(-y) })
		if len(got) != len(segments) {
			t.Fatalf("glyph %d: %d pieces, want %d", g, len(got), len(segments))
		}
		for i, want := range segments {
			n := map[sfnt.SegmentOp]int{sfnt.SegmentOpMoveTo: 1, sfnt.SegmentOpLineTo: 1, sfnt.SegmentOpQuadTo: 2}[want.Op]
			for k := range n {
				if dx, dy := got[i].to[2*k]-float32(want.Args[k].X), got[i].to[2*k+1]-float32(want.Args[k].Y); got[i].op != want.Op || max(dx, -dx, dy, -dy) > 0.5 {
					t.Errorf("glyph %d, piece %d: %v, want %v", g, i, got[i], want)
				}
			}
		}
	}
}

// pathRecorder keeps the pieces of a path.
type pathRecorder []pathPiece

type pathPiece struct {
	op sfnt.SegmentOp
	to [4]float32
}

func (r *pathRecorder) MoveTo(x, y float32) {
	*r = append(*r, pathPiece{sfnt.SegmentOpMoveTo, [4]float32{x, y}})
}

func (r *pathRecorder) LineTo(x, y float32) {
	*r = append(*r, pathPiece{sfnt.SegmentOpLineTo, [4]float32{x, y}})
}

func (r *pathRecorder) QuadTo(bx, by, cx, cy float32) {
	*r = append(*r, pathPiece{sfnt.SegmentOpQuadTo, [4]float32{bx, by, cx, cy}})
}

// ClosePath leads back to where the contour began, as sfnt does.
func (r *pathRecorder) ClosePath() {
	begun := len(*r) - 1
	for (*r)[begun].op != sfnt.SegmentOpMoveTo {
		begun--
	}
	last := (*r)[len(*r)-1]
	at := [2]float32(last.to[:2])
	if last.op == sfnt.SegmentOpQuadTo {
		at = [2]float32(last.to[2:])
	}
	if start := [2]float32((*r)[begun].to[:2]); at != start {
		r.LineTo(start[0], start[1])
	}
}
