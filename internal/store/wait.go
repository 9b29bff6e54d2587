package store

import (
	"context"
	"os"
)

// OpenWaiting opens a file, as os.OpenFile does, until ctx ends, whose cause it then returns.
// Opening a named pipe waits for its other end, and cannot be interrupted; a file that opens
// too late is closed.
func OpenWaiting(ctx context.Context, path string, flags int) (*os.File, error) {
	type opening struct {
		file *os.File
		err  error
	}
	opened := make(chan opening)
	go func() {
		file, err := os.OpenFile(path, flags, 0)
		select {
		case opened <- opening{file, err}:
		case <-ctx.Done():
			if err == nil {
				_ = file.Close() // nothing was read or written
			}
		}
	}()
	select {
	case o := <-opened:
		return o.file, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
