package cli

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
)

// TestBenchDatasetMistakes: a list of URLs that no download would take is not made, and
// what a script has left empty is not taken for a flag that is not there.
func TestBenchDatasetMistakes(t *testing.T) {
	for _, more := range [][]string{{"--base", "ftp://server"}, {"--base", ""}, {"-o", ""}} {
		t.Chdir(t.TempDir())
		var errs bytes.Buffer
		code := Main(append([]string{"bench", "dataset", "html/1"}, more...), console.IO{In: strings.NewReader(""), Out: io.Discard, Err: &errs})
		made, err := os.ReadDir(".")
		if code != exit.Usage || err != nil || len(made) > 0 {
			t.Errorf("%v: exit %d, %q, %v, %v", more, code, errs.String(), made, err)
		}
	}
}
