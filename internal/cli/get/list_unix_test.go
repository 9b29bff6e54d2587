//go:build unix

package get

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/engine"
)

// TestListFromAPipeWithoutWriter: opening a pipe without a writer waits no longer than the run
// lasts.
func TestListFromAPipeWithoutWriter(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "p")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(engine.ErrInterrupted) })
	_, err := (&Options{inputFile: pipe}).task(ctx, nil, console.IO{})
	if code, _ := exit.Classify(err); code != exit.Interrupted || !errors.Is(err, engine.ErrInterrupted) {
		t.Errorf("exit %d, %v", code, err)
	}
	both, err := os.OpenFile(pipe, os.O_RDWR, 0) // releases an open that still waits
	if err != nil {
		t.Fatal(err)
	}
	if err := both.Close(); err != nil {
		t.Fatal(err)
	}
}
