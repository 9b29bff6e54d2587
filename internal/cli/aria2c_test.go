package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/cli/console"
)

// TestExitCodesLikeAria2 runs the same commands as aria2c and by aria2c itself.
func TestExitCodesLikeAria2(t *testing.T) {
	name, err := exec.LookPath("aria2c")
	if err != nil {
		t.Skip("there is no aria2c here")
	}
	text := bytes.Repeat([]byte("text"), 1000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a":
			http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(text))
		case "/locked":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	run := func(aria2 bool, words []string) int {
		if !aria2 {
			return MainAs("aria2c", words, console.IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
		}
		cmd := exec.CommandContext(t.Context(), name, words...)
		_ = cmd.Run() // the code says it
		return cmd.ProcessState.ExitCode()
	}
	ours, theirs := t.TempDir(), t.TempDir()
	for _, c := range []struct{ args, file string }{
		{"URL/a", "a"},
		{"URL/none", ""},
		{"--nonsense URL/a", ""},
		{"URL/locked", ""},
		{"-o sum --checksum=sha-1=0123456789012345678901234567890123456789 URL/a", ""},
		{"-o second URL/none URL/a", "second"},
		{"-o once --auto-file-renaming=false URL/a", "once"},
		{"-o once --auto-file-renaming=false URL/a", "once"},
		{"-o once -c URL/a", "once"},
		{"-o once --allow-overwrite=true URL/a", "once"},
		{"-o once.x URL/a", "once.x"},
		{"-o once.x URL/a", "once.1.x"},
		{"-o sub/deep/a URL/a", "sub/deep/a"},
		{"-v", ""},
	} {
		args := strings.Fields(strings.ReplaceAll(c.args, "URL", s.URL))
		got := run(false, append([]string{"--no-conf", "-q", "-d", ours}, args...))
		want := run(true, append([]string{"--no-conf", "-q", "-d", theirs}, args...))
		if got != want {
			t.Errorf("aria2c %s: exit code %d, theirs %d", c.args, got, want)
		}
		for _, dir := range []string{ours, theirs} {
			if c.file == "" {
				continue
			}
			if b, err := os.ReadFile(filepath.Join(dir, c.file)); err != nil || !bytes.Equal(b, text) {
				t.Errorf("aria2c %s: %v", c.args, err)
			}
		}
	}
}
