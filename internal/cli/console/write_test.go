package console

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/mlget/mlget/internal/cli/exit"
)

// TestCreateKeepsAnExistingFile: a report that cannot be made replaces nothing.
func TestCreateKeepsAnExistingFile(t *testing.T) {
	failed := errors.New("no more of it")
	name := filepath.Join(t.TempDir(), "report")
	for _, c := range []struct {
		text string
		fail error
		want string
	}{{"old", nil, "old"}, {"new", failed, "old"}, {"new", nil, "new"}} {
		err := Create(name, func(w io.Writer) error {
			_, err := io.WriteString(w, c.text)
			return errors.Join(err, c.fail)
		})
		if !errors.Is(err, c.fail) || c.fail != nil && !errors.As(err, new(exit.FileError)) {
			t.Errorf("%v", err)
		}
		if text, err := os.ReadFile(name); err != nil || string(text) != c.want {
			t.Errorf("%q, %v, want %q", text, err, c.want)
		}
	}
	if err := Create(filepath.Join(name, "x"), func(io.Writer) error { return nil }); !errors.As(err, new(exit.FileError)) {
		t.Errorf("below a file: %v", err)
	}
}
