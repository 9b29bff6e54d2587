package plot

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

func TestPNG(t *testing.T) {
	figures := []Figure{chart(), bars(), hostile()[2], hostile()[3]} // few: the race detector is slow with pixels
	var b bytes.Buffer
	if err := WritePNG(&b, figures, Sheet{Columns: 2}); err != nil {
		t.Fatal(err)
	}
	if out := os.Getenv("MLGET_PLOT_PNG"); out != "" { // for eyes
		if err := os.WriteFile(out, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	_, width, height := Sheet{Columns: 2}.arrange(figures)
	if got := img.Bounds(); got != image.Rect(0, 0, int(width*pngScale), int(height*pngScale)) {
		t.Errorf("it is %v", got)
	}
	// The upright rule of the first chart is there, in its colour, with gaps.
	c := chart()
	x, _ := c.scales(marginLeft, chartWidth-marginRight, 0, 1)
	at := int(x.at(9.5) * pngScale)
	var orange, white int
	for y := 200; y < 400; y++ {
		switch r, g, bl, _ := img.At(at, y).RGBA(); {
		case r>>8 > 200 && g>>8 < 200 && bl>>8 < 120:
			orange++
		case r>>8 == 255 && g>>8 == 255 && bl>>8 == 255:
			white++
		}
	}
	if orange < 80 || white < 40 {
		t.Errorf("of 200 pixels of a dashed line %d are orange and %d white", orange, white)
	}
	many := make([]Figure, 500)
	for i := range many {
		many[i] = chart()
	}
	if err := WritePNG(io.Discard, many, Sheet{Columns: 2}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("500 figures: %v", err)
	}
}

// TestPNGKeepsPixels has image/png read what encodePNG writes.
func TestPNGKeepsPixels(t *testing.T) {
	want := white(40)
	for i := range want.Pix {
		if i%4 < 3 && i%7 > 2 {
			want.Pix[i] = byte(i * i >> 3)
		}
	}
	var b bytes.Buffer
	if err := encodePNG(&b, want); err != nil {
		t.Fatal(err)
	}
	got, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	for y := range 40 {
		for x := range 40 {
			r, g, bl, a := got.At(x, y).RGBA()
			if c := want.RGBAAt(x, y); (color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(bl >> 8), uint8(a >> 8)}) != c {
				t.Fatalf("the pixel at %d, %d is %v, want %v", x, y, got.At(x, y), c)
			}
		}
	}
}

// The PNG's colours are those of the style sheet on light paper.
func TestColoursAgree(t *testing.T) {
	light := palette(false)
	for i := range colours {
		c := rgba(Colour(i), 1)
		if want := fmt.Sprintf("--c%d:#%02x%02x%02x", i, c.R, c.G, c.B); !strings.Contains(light, want) {
			t.Errorf("%s is not in %s", want, light)
		}
	}
	for _, c := range []struct {
		of   Colour
		name string
	}{{Ink, "ink"}, {Faint, "faint"}} {
		rgb := rgba(c.of, 1)
		if want := fmt.Sprintf("--%s:#%02x%02x%02x", c.name, rgb.R, rgb.G, rgb.B); !strings.Contains(light, want) {
			t.Errorf("%s is not in %s", want, light)
		}
	}
	if (rgba(0, 0.5) == color.NRGBA{}) {
		t.Error("no colour")
	}
}

// TestTextLooksAsOpentypeDrawsIt holds a line of text against x/image/font/opentype's, level and
// turned upwards: the same pixels, but for what rounding does to the shades of edges.
func TestTextLooksAsOpentypeDrawsIt(t *testing.T) {
	const text, size, side = "wlan0: Δ 80.00 Mbit/s, Ångström, ёж, µ%", 24, 640
	f, err := loadFont()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := opentype.Parse(goregular.TTF)
	if err != nil {
		t.Fatal(err)
	}
	face, err := opentype.NewFace(whole, &opentype.FaceOptions{Size: size, DPI: 72})
	if err != nil {
		t.Fatal(err)
	}
	want := white(side)
	d := font.Drawer{Dst: want, Src: image.NewUniform(rgba(Ink, 1)), Face: face, Dot: fixed.P(20, 320)}
	d.DrawString(text)
	level := &raster{image: white(side), scale: 1, font: f}
	level.text(20, 320, text, textStyle{size: size, colour: Ink})
	upward := &raster{image: white(side), scale: 1, font: f}
	upward.text(320, side-20, text, textStyle{size: size, colour: Ink, upward: true})
	var ink, level1, upward1 int // sums of shades
	for y := range side {
		for x := range side {
			shade := int(want.RGBAAt(x, y).R)
			ink += 255 - shade
			level1 += abs(shade - int(level.image.RGBAAt(x, y).R))
			upward1 += abs(shade - int(upward.image.RGBAAt(y, side-1-x).R))
		}
	}
	if ink < 100000 || level1 > ink/20 || upward1 > ink/20 {
		t.Errorf("of %d shades of ink %d are elsewhere in the level text, and %d in the upward one", ink, level1, upward1)
	}
}

func white(side int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, side, side))
	for i := range img.Pix {
		img.Pix[i] = 0xff
	}
	return img
}

func abs(n int) int { return max(n, -n) }
