// Package console is what commands read from and write to.
package console

import "io"

// IO is what the program reads from and writes to.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
}
