package exit

import (
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

// TestFileHints: an error about a flag's file comes with a hint at the cause.
func TestFileHints(t *testing.T) {
	for err, want := range map[error]string{
		syscall.ENOENT: "path",
		syscall.EACCES: "its permissions",
		syscall.EROFS:  "another file",
		syscall.ENXIO:  "standard output",
		syscall.EIO:    "",
	} {
		code, hint := Classify(FileError{&fs.PathError{Op: "open", Path: "x", Err: err}})
		if code != File || !strings.Contains(hint, want) || (hint == "") != (want == "") {
			t.Errorf("%v: %d, %q", err, code, hint)
		}
	}
}
