package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
)

// TestBenchRunRefusesEmptyLists: a list without a word is a mistake, and begins no campaign.
func TestBenchRunRefusesEmptyLists(t *testing.T) {
	for _, flag := range []string{"--algorithm", "--energy"} {
		var out, errs bytes.Buffer
		dir := filepath.Join(t.TempDir(), "bench")
		code := Main([]string{"bench", "run", "-l", "lo", "-P", dir, flag, "", "http://127.0.0.1:9/f"}, console.IO{In: strings.NewReader(""), Out: &out, Err: &errs})
		if code != exit.Usage || !strings.HasPrefix(errs.String(), "mlget: "+flag) {
			t.Errorf("%s: exit %d, %q", flag, code, errs.String())
		}
	}
}
