//go:build unix

package android_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/android"
)

// TestPreferCellular runs the commands that the phone's owner is shown in a shell
// whose `settings` keeps the setting in a file, as each value that may be there
// before, and wants what Android takes without crashing: numbers, parted by
// semicolons, the old ones among them.
func TestPreferCellular(t *testing.T) {
	shells := []string{"sh"}
	for _, more := range []string{"bash", "mksh", "busybox"} {
		if path, err := exec.LookPath(more); err == nil {
			shells = append(shells, path)
		}
	}
	for _, shell := range shells {
		for before, want := range map[string]string{
			"null": "10123", "10050": "10050;10123", "10050;1010051": "10050;1010051;10123",
			"": "10123", "abc": "10123", "10050;abc": "10123", "10050;": "10123", ";": "10123",
			"10050; 10051": "10123", "-1": "10123", "10050\n10051": "10123", "$(touch x)": "10123", "*": "10123",
		} {
			dir := t.TempDir()
			value := filepath.Join(dir, "value")
			settings := "#!/bin/sh\ncase $1 in get) cat '" + value + "';; put) printf %s \"$4\" >'" + value + "';; delete) printf null >'" + value + "';; esac\n"
			for name, text := range map[string]string{"settings": settings, "value": before} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			run := func(command string) string {
				args := []string{"-c", command}
				if strings.HasSuffix(shell, "busybox") {
					args = append([]string{"sh"}, args...)
				}
				cmd := exec.Command(shell, args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %s: %v\n%s", shell, command, err, out)
				}
				return string(out)
			}
			show, add, undo := android.PreferCellular(10123)
			if got := run(show); got != before {
				t.Errorf("%s shows %q, want %q", show, got, before)
			}
			run(add)
			text, err := os.ReadFile(value)
			if err != nil || string(text) != want {
				t.Errorf("%s: %q becomes %q, want %q (%v)", shell, before, text, want, err)
			}
			if run(undo); run(show) != "null" {
				t.Errorf("%s does not undo it", undo)
			}
			if _, err := os.Stat(filepath.Join(dir, "x")); err == nil {
				t.Errorf("%q was run", before)
			}
		}
	}
}

// TestNothingToFillIn: what is printed for the setting has no place for somebody to
// fill in: a word that is left there would crash the phone at each boot.
func TestNothingToFillIn(t *testing.T) {
	put := regexp.MustCompile(`settings put secure mobile_data_preferred_uids (\S+)`)
	found := 0
	for _, line := range android.WaysToCellular(10123) {
		for _, m := range put.FindAllStringSubmatch(line, -1) {
			found++
			if m[1] != `"$n"` {
				t.Errorf("%s", line)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d commands set it", found)
	}
}
