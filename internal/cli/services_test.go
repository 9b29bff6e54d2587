package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/cli/console"
)

// TestServicesStart: the services in docs/services call commands and flags that there are, and
// systemd and the shell can read them.
func TestServicesStart(t *testing.T) {
	names, err := filepath.Glob("../../docs/services/*")
	if err != nil || len(names) == 0 {
		t.Fatalf("no services: %v", err)
	}
	call := regexp.MustCompile(`(?m)^(?:ExecStart=(?:/usr/bin/)?|exec |\t)mlget (.*)$`)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m := call.FindSubmatch(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
		if m == nil {
			t.Errorf("%s does not call mlget", name)
			continue
		}
		words, _, _ := strings.Cut(string(m[1]), " 2>")
		cmd, args, err := newRootCommand(console.IO{}).Find(strings.Fields(words))
		if err == nil {
			err = cmd.ParseFlags(args)
		}
		if err != nil || !cmd.HasParent() || cmd.Flags().NArg() > 0 {
			t.Errorf("%s: mlget %s: %v", name, words, err)
		}
		check := []string{"sh", "-n", name}
		if strings.HasSuffix(name, ".service") {
			unit := filepath.Join(t.TempDir(), filepath.Base(name))
			text = regexp.MustCompile(`ExecStart=\S+`).ReplaceAll(text, []byte("ExecStart=/bin/true")) // mlget need not be installed
			if err := os.WriteFile(unit, text, 0o600); err != nil {
				t.Fatal(err)
			}
			check = []string{"systemd-analyze", "verify", "--user", "--man=no", unit} //nolint:misspell // as it is called
		}
		if _, err := exec.LookPath(check[0]); err != nil {
			continue
		}
		checking := exec.CommandContext(t.Context(), check[0], check[1:]...)
		checking.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
		if out, err := checking.CombinedOutput(); err != nil || strings.Contains(string(out), filepath.Base(name)) {
			t.Errorf("%s: %v\n%s", strings.Join(check, " "), err, out)
		}
	}
}
