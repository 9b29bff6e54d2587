package plot

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func pdfOf(t *testing.T, figures []Figure, sheet Sheet) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WritePDF(&b, figures, sheet); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPDF holds a document against ISO 32000-1, 7.5: every object is where the table of
// references says, and every stream is as long as it says and can be unpacked.
func TestPDF(t *testing.T) {
	figures := append(hostile(), chart(), bars())
	doc := pdfOf(t, figures, Sheet{FontSize: 10})
	if !bytes.HasPrefix(doc, []byte("%PDF-1.7\n")) || !bytes.HasSuffix(doc, []byte("%%EOF\n")) {
		t.Error("it does not begin or end as a PDF does")
	}
	start := regexp.MustCompile(`startxref\n(\d+)\n`).FindSubmatch(doc)
	at, err := strconv.Atoi(string(start[1]))
	if err != nil || !bytes.HasPrefix(doc[at:], []byte("xref\n")) {
		t.Fatalf("no table at %d: %v", at, err)
	}
	lines := strings.Split(string(doc[at:]), "\n")[3:]
	objects := 0
	for i, line := range lines {
		if strings.HasPrefix(line, "trailer") {
			break
		}
		offset, err := strconv.Atoi(line[:10])
		if err != nil || len(line) != 19 || !bytes.HasPrefix(doc[offset:], fmt.Appendf(nil, "%d 0 obj\n", i+1)) {
			t.Errorf("object %d is not at %q: %v", i+1, line, err)
		}
		objects++
	}
	if want := 8 + 2*len(figures); objects != want {
		t.Errorf("%d objects, want %d", objects, want)
	}
	text := ""
	for _, m := range regexp.MustCompile(`/Length (\d+) /Filter /FlateDecode [^>]*>>\nstream\n`).FindAllSubmatchIndex(doc, -1) {
		length, err := strconv.Atoi(string(doc[m[2]:m[3]]))
		if err != nil || !bytes.HasPrefix(doc[m[1]+length:], []byte("\nendstream\n")) {
			t.Fatalf("a stream of %d bytes: %v", length, err)
		}
		z, err := zlib.NewReader(bytes.NewReader(doc[m[1] : m[1]+length]))
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		text += string(content)
	}
	for _, bad := range []string{"NaN", "Inf", "e+", "\x1b"} {
		if strings.Contains(text[strings.Index(text, "cm\n"):], bad) && bad != "\x1b" || bad == "\x1b" && bytes.Contains(doc[:300], []byte(bad)) {
			t.Errorf("there is %q in it", bad)
		}
	}
	if !bytes.Equal(doc, pdfOf(t, figures, Sheet{FontSize: 10})) {
		t.Error("the same figures give other bytes")
	}
}

// TestPDFIsRead has another program read it: its pages, that its fonts are embedded, and
// its text.
func TestPDFIsRead(t *testing.T) {
	for _, program := range []string{"pdfinfo", "pdffonts", "pdftotext"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("poppler-utils is not installed")
		}
	}
	name := filepath.Join(t.TempDir(), "a.pdf")
	c := chart()
	c.Title = "σ, Δ and ∫ of 12 runs"
	if err := os.WriteFile(name, pdfOf(t, []Figure{c, bars()}, Sheet{}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, program := range []struct{ name, want string }{
		{"pdfinfo", `Pages: +2\n(?s:.*)Page size: +255 x `}, // 340 pixels
		{"pdffonts", `GoRegular +CID TrueType +Identity-H +yes `},
		{"pdftotext", `wlan0: median 80.00 Mbit/s`},
		{"pdftotext", `σ, Δ and . of 12 runs`},
	} {
		args := []string{name}
		if program.name == "pdftotext" {
			args = append(args, "-")
		}
		out, err := exec.Command(program.name, args...).CombinedOutput()
		if err != nil || !regexp.MustCompile(program.want).Match(out) || bytes.Contains(out, []byte("Error")) {
			t.Errorf("%s: %v, want %q in\n%s", program.name, err, program.want, out)
		}
	}
}
