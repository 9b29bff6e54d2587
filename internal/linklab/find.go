package linklab

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Find looks for a program beside this one, then in $PATH, then where
// distributions put what only root may run; empty if it is nowhere.
func Find(program string) string {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), program)
		if path, err := exec.LookPath(beside); err == nil {
			return path
		}
	}
	for _, name := range []string{program, "/usr/sbin/" + program, "/usr/local/sbin/" + program, "/sbin/" + program} {
		if path, err := exec.LookPath(name); err == nil {
			if abs, err := filepath.Abs(path); err == nil {
				return abs
			}
		}
	}
	return ""
}
