package bench

import (
	"context"
	"io"
	"testing"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/engine"
)

// TestBenchDatasetInterrupted: it does not say that it goes on the next time, since it
// makes all files anew.
func TestBenchDatasetInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(engine.ErrInterrupted)
	err := writeDataset(ctx, &datasetOptions{dir: t.TempDir()}, "html/2", io.Discard)
	if code, hint := exit.Classify(err); code != exit.Interrupted || hint != "" {
		t.Errorf("exit %d, %v, hint %q", code, err, hint)
	}
}
