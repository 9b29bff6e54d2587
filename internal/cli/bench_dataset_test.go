package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/engine"
)

// TestBenchDatasetMistakes: a list of URLs that no download would take is not made, and
// what a script has left empty is not taken for a flag that is not there.
func TestBenchDatasetMistakes(t *testing.T) {
	for _, more := range [][]string{{"--base", "ftp://server"}, {"--base", ""}, {"-o", ""}} {
		t.Chdir(t.TempDir())
		var errs bytes.Buffer
		code := Main(append([]string{"bench", "dataset", "html/1"}, more...), IO{In: strings.NewReader(""), Out: io.Discard, Err: &errs})
		made, err := os.ReadDir(".")
		if code != exitUsage || err != nil || len(made) > 0 {
			t.Errorf("%v: exit %d, %q, %v, %v", more, code, errs.String(), made, err)
		}
	}
}

// TestBenchDatasetInterrupted: it does not say that it goes on the next time, since it
// makes all files anew.
func TestBenchDatasetInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(engine.ErrInterrupted)
	err := writeDataset(ctx, &datasetOptions{dir: t.TempDir()}, "html/2", io.Discard)
	if code, hint := classify(err); code != exitInterrupted || hint != "" {
		t.Errorf("exit %d, %v, hint %q", code, err, hint)
	}
}
