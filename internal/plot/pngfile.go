package plot

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"io"
)

// encodePNG writes an opaque image as a PNG (ISO/IEC 15948) of 24 bits a pixel. image/png would
// bring a reader along: 50 KB of the program.
func encodePNG(w io.Writer, img *image.RGBA) error {
	size := img.Bounds().Size()
	header := binary.BigEndian.AppendUint32(nil, uint32(size.X))   //nolint:gosec // maxPixels bounds it
	header = binary.BigEndian.AppendUint32(header, uint32(size.Y)) //nolint:gosec // maxPixels bounds it
	header = append(header, 8, 2, 0, 0, 0)                         // bits; red, green, blue; deflate; filters; not interlaced
	packed, err := packPixels(img)
	if err != nil {
		return err
	}
	file := []byte("\x89PNG\r\n\x1a\n")
	file = appendChunk(file, "IHDR", header)
	file = appendChunk(file, "IDAT", packed)
	_, err = w.Write(appendChunk(file, "IEND", nil))
	return err
}

// packPixels compresses an image's rows, each as its difference from the one above it: in
// figures that is mostly nothing.
func packPixels(img *image.RGBA) ([]byte, error) {
	const filterUp = 2
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	width, height := img.Bounds().Dx(), img.Bounds().Dy()
	row := make([]byte, 1+3*width)
	row[0] = filterUp
	above := make([]byte, 4*width)
	for y := range height {
		pixels := img.Pix[y*img.Stride:][:4*width]
		for x := range width {
			for c := range 3 {
				row[1+3*x+c] = pixels[4*x+c] - above[4*x+c]
			}
		}
		above = pixels
		if _, err := z.Write(row); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// appendChunk appends a chunk: its length, type, data and checksum.
func appendChunk(file []byte, kind string, data []byte) []byte {
	file = binary.BigEndian.AppendUint32(file, uint32(len(data))) //nolint:gosec // maxPixels bounds it
	begin := len(file)
	file = append(append(file, kind...), data...)
	return binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(file[begin:]))
}
