//go:build !png && (android || (linux && (arm || arm64)))

package plot

import "io"

// HasPNG says whether this build can make PNGs. Filling shapes and a font take 0.7
// MB, which a phone's program does not carry for what its SVG and HTML show better.
const HasPNG = false

// WritePNG is ErrNoPNG.
func WritePNG(io.Writer, []Figure, int) error { return ErrNoPNG }
