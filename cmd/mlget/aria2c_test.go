package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInstallAria2c: mlget makes a link by which it is aria2c, also where the link is there
// already, and replaces no other program.
func TestInstallAria2c(t *testing.T) {
	t.Parallel()
	suffix := strings.TrimPrefix(binaryName(), "mlget")
	binary, err := exec.LookPath("mlget")
	check(t, err)
	program, err := os.ReadFile(binary)
	check(t, err)
	dir := t.TempDir()
	self := filepath.Join(dir, binaryName()) // a file that no other test runs: Windows would not remove a link to it
	// A program that is started meanwhile would inherit the file, open for writing: text file busy.
	syscall.ForkLock.RLock()
	err = os.WriteFile(self, program, 0o700)
	syscall.ForkLock.RUnlock()
	check(t, err)
	install := func(dir string) error {
		return exec.CommandContext(t.Context(), self, "--install-aria2c", dir).Run()
	}
	name := filepath.Join(dir, "bin", "aria2c"+suffix)
	for range 2 {
		check(t, install(filepath.Dir(name)))
	}
	s := newSite(t)
	check(t, exec.CommandContext(t.Context(), name, "--no-conf", "-q", "-d", dir, "-o", "f.bin", s.clear.URL+"/ranges/5000/x").Run())
	wantFile(t, filepath.Join(dir, "f.bin"), 5000, "")

	file := filepath.Join(dir, "file", "aria2c"+suffix)
	below := filepath.Join(dir, "dir", "aria2c"+suffix)
	check(t, os.Mkdir(filepath.Dir(file), 0o700))
	check(t, os.WriteFile(file, []byte("aria2"), 0o600))
	check(t, os.MkdirAll(below, 0o700))
	for _, there := range []string{file, below} {
		if code := exitCode(t, install(filepath.Dir(there))); code != 3 {
			t.Errorf("%s was there before: exit code %d", there, code)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "aria2" {
		t.Errorf("aria2's own program was replaced: %v", err)
	}
}
