package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
)

func TestEnergyFlag(t *testing.T) {
	var errs bytes.Buffer
	code := Main([]string{"--energy", "much", "http://127.0.0.1:1/"}, console.IO{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &errs})
	if code != exit.Usage || !strings.Contains(errs.String(), "min-energy") {
		t.Errorf("exit %d, %q", code, errs.String())
	}
}
