package plot

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
)

// pdfPoint is how many points of PDF, of which an inch has 72, stand for a pixel of CSS, of
// which it has 96.
const pdfPoint = 0.75

// WritePDF writes figures as a PDF (ISO 32000-1) with a page for each, as large as the
// figure, for papers. Its font is embedded, as publishers ask. The same figures give the
// same bytes.
func WritePDF(w io.Writer, figures []Figure, sheet Sheet) error {
	face, err := loadFont()
	if err != nil {
		return err
	}
	doc := pdf{font: face, used: make(map[glyphID]rune)}
	pages := make([]pdfPage, len(figures))
	for i, f := range figures {
		pages[i] = doc.page(f, sheet)
	}
	doc.out.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	// Objects: 1 the catalogue, 2 the pages, 3 to 7 the font, 8 what opacities there are,
	// then two for each page.
	const firstPage = 9
	doc.object(1, "<< /Type /Catalog /Pages 2 0 R >>")
	var kids bytes.Buffer
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", firstPage+2*i)
	}
	doc.object(2, fmt.Sprintf("<< /Type /Pages /Count %d /Kids [ %s] >>", len(pages), kids.String()))
	if err := doc.fontObjects(3); err != nil {
		return err
	}
	doc.object(8, doc.opacities())
	for i, p := range pages {
		n := firstPage + 2*i
		doc.object(n, fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %s %s] /Contents %d 0 R /Resources << /Font << /F 3 0 R >> /ExtGState 8 0 R >> >>",
			number(p.width), number(p.height), n+1))
		if err := doc.stream(n+1, "", p.content); err != nil {
			return err
		}
	}
	doc.trailer()
	_, err = w.Write(doc.out.Bytes())
	return err
}

// pdf is a document in the making.
type pdf struct {
	out     bytes.Buffer
	font    *typeface
	used    map[glyphID]rune // glyphs that were written, and what they stand for
	opacity []float64        // that were asked for
	offsets map[int]int      // of objects, by their number
}

type pdfPage struct {
	width, height float64 // points
	content       []byte
}

// page draws a figure.
func (d *pdf) page(f Figure, sheet Sheet) pdfPage {
	height := f.height(sheet.width()) * sheet.scale()
	p := pdfPage{width: chartWidth * pdfPoint, height: height * pdfPoint}
	on := pdfCanvas{doc: d}
	scale := pdfPoint * sheet.scale()
	// In PDF y goes up.
	fmt.Fprintf(&on.out, "%s 0 0 -%s 0 %s cm\n1 j\n", number(scale), number(scale), number(p.height))
	f.draw(&on, sheet.width())
	p.content = on.out.Bytes()
	return p
}

func (d *pdf) begin(n int) {
	if d.offsets == nil {
		d.offsets = make(map[int]int)
	}
	d.offsets[n] = d.out.Len()
	fmt.Fprintf(&d.out, "%d 0 obj\n", n)
}

func (d *pdf) object(n int, content string) {
	d.begin(n)
	d.out.WriteString(content + "\nendobj\n")
}

// stream writes an object of bytes, compressed.
func (d *pdf) stream(n int, entries string, content []byte) error {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write(content); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	d.packedStream(n, entries, packed.Bytes())
	return nil
}

// packedStream writes an object of bytes that are compressed already.
func (d *pdf) packedStream(n int, entries string, packed []byte) {
	d.begin(n)
	fmt.Fprintf(&d.out, "<< /Length %d /Filter /FlateDecode %s>>\nstream\n", len(packed), entries)
	d.out.Write(packed)
	d.out.WriteString("\nendstream\nendobj\n")
}

func (d *pdf) trailer() {
	start := d.out.Len()
	fmt.Fprintf(&d.out, "xref\n0 %d\n0000000000 65535 f \n", len(d.offsets)+1)
	for _, n := range slices.Sorted(maps.Keys(d.offsets)) {
		fmt.Fprintf(&d.out, "%010d 00000 n \n", d.offsets[n])
	}
	fmt.Fprintf(&d.out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(d.offsets)+1, start)
}

// opacities are the graphics states that strokes and areas name.
func (d *pdf) opacities() string {
	var b bytes.Buffer
	b.WriteString("<<")
	for i, o := range d.opacity {
		fmt.Fprintf(&b, " /O%d << /CA %s /ca %s >>", i, number(o), number(o))
	}
	b.WriteString(" >>")
	return b.String()
}

// fontObjects writes the font, from object n on: itself, its glyphs, its description, its
// file and what its glyphs stand for, so that text can be searched and copied.
func (d *pdf) fontObjects(n int) error {
	var widths, unicode bytes.Buffer
	for _, g := range slices.Sorted(maps.Keys(d.used)) {
		fmt.Fprintf(&widths, "%d [%d] ", g, d.advance(g))
		fmt.Fprintf(&unicode, "<%04x> <", int(g))
		for _, unit := range utf16.Encode([]rune{d.used[g]}) {
			fmt.Fprintf(&unicode, "%04x", unit)
		}
		unicode.WriteString(">\n")
	}
	const name = "/GoRegular"
	d.object(n, fmt.Sprintf("<< /Type /Font /Subtype /Type0 /BaseFont %s /Encoding /Identity-H /DescendantFonts [%d 0 R] /ToUnicode %d 0 R >>", name, n+1, n+4))
	d.object(n+1, fmt.Sprintf("<< /Type /Font /Subtype /CIDFontType2 /BaseFont %s /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /FontDescriptor %d 0 R /CIDToGIDMap /Identity /DW 600 /W [ %s] >>", name, n+2, widths.String()))
	// Figures of Go Regular: 2048 units to an em; bounds, ascent and descent in thousandths.
	d.object(n+2, fmt.Sprintf("<< /Type /FontDescriptor /FontName %s /Flags 4 /FontBBox [-210 -230 1150 960] /ItalicAngle 0 /Ascent 930 /Descent -210 /CapHeight 720 /StemV 90 /FontFile2 %d 0 R >>", name, n+3))
	d.packedStream(n+3, fmt.Sprintf("/Length1 %d ", d.font.size), packedFont)
	cmap := fmt.Sprintf(`/CIDInit /ProcSet findresource begin
12 dict begin
begincmap
/CMapName /Adobe-Identity-UCS def
/CMapType 2 def
1 begincodespacerange
<0000> <ffff>
endcodespacerange
%d beginbfchar
%sendbfchar
endcmap
CMapName currentdict /CMap defineresource pop
end
end
`, len(d.used), unicode.String())
	return d.stream(n+4, "", []byte(cmap))
}

// glyph is a character's glyph; see typeface.drawn.
func (d *pdf) glyph(r rune) glyphID {
	g, r := d.font.drawn(r)
	d.used[g] = r
	return g
}

// advance is a glyph's width in thousandths of its size.
func (d *pdf) advance(g glyphID) int {
	return int(math.Round(1000 * float64(d.font.advance(g)) / float64(d.font.em)))
}

// pdfCanvas is a canvas that writes operators.
type pdfCanvas struct {
	doc *pdf
	out bytes.Buffer
}

// number is a number as PDF has them: no exponents.
func number(x float64) string {
	if !finite(x) {
		x = 0
	}
	return strconv.FormatFloat(math.Round(x*1000)/1000, 'f', -1, 64)
}

// colour is a colour's operands.
func (*pdfCanvas) colour(c Colour) string {
	rgb := rgba(c, 1)
	return number(float64(rgb.R)/255) + " " + number(float64(rgb.G)/255) + " " + number(float64(rgb.B)/255)
}

// state is the name of a graphics state with that opacity.
func (p *pdfCanvas) state(opacity float64) string {
	at := slices.Index(p.doc.opacity, opacity)
	if at < 0 {
		at = len(p.doc.opacity)
		p.doc.opacity = append(p.doc.opacity, opacity)
	}
	return "/O" + strconv.Itoa(at)
}

func (p *pdfCanvas) polyline(points []Point, s stroke) {
	if len(points) < 2 {
		return
	}
	dash := "[]"
	if s.dashed {
		dash = "[6 4]"
	}
	fmt.Fprintf(&p.out, "%s gs %s RG %s w %s 0 d\n", p.state(s.opacity), p.colour(s.colour), number(s.width), dash)
	for i, at := range points {
		fmt.Fprintf(&p.out, "%s %s %c\n", number(at.X), number(at.Y), "ml"[min(i, 1)])
	}
	p.out.WriteString("S\n")
}

func (p *pdfCanvas) rect(x, y, width, height float64, c Colour, opacity float64) {
	fmt.Fprintf(&p.out, "%s gs %s rg %s %s %s %s re f\n", p.state(opacity), p.colour(c), number(x), number(y), number(max(width, 0)), number(height))
}

func (p *pdfCanvas) text(x, y float64, s string, t textStyle) {
	var codes bytes.Buffer
	width := 0
	for _, r := range printable(s) {
		g := p.doc.glyph(r)
		width += p.doc.advance(g)
		fmt.Fprintf(&codes, "%04x", int(g))
	}
	back := [...]float64{0, 0.5, 1}[t.anchor] * float64(width) / 1000 * t.size
	// Text would stand on its head: its matrix turns it back, and by 90 degrees where it reads
	// upwards.
	matrix := fmt.Sprintf("1 0 0 -1 %s %s", number(x-back), number(y))
	if t.upward {
		matrix = fmt.Sprintf("0 -1 -1 0 %s %s", number(x), number(y+back))
	}
	render := "0 Tr"
	if t.bold { // filled and outlined: a font of its own would weigh too much
		render = fmt.Sprintf("2 Tr [] 0 d %s RG %s w", p.colour(t.colour), number(t.size/30))
	}
	fmt.Fprintf(&p.out, "%s gs %s rg BT %s /F %s Tf %s Tm <%s> Tj ET\n", p.state(1), p.colour(t.colour), render, number(t.size), matrix, codes.String())
}
