// Package console has the streams that commands read from and write to.
package console

import "io"

// IO holds the streams that the program reads from and writes to.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
}
