package main_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNameAppearsMeanwhile: a file that somebody makes under the name while it is
// being downloaded is not replaced (curl CVE-2020-8177), nor is one that comes to
// be a symbolic link followed.
func TestNameAppearsMeanwhile(t *testing.T) {
	for _, kind := range []string{"file", "link", "directory"} {
		t.Run(kind, func(t *testing.T) {
			s, dir := newSite(t), t.TempDir()
			s.set("hang", "1500000")
			name, target := filepath.Join(dir, "f.bin"), filepath.Join(dir, "target")
			check(t, os.WriteFile(target, []byte("not to be lost"), 0o600))
			p := startMlget(t, dir, s.clear.URL+"/hang/3000000/f.bin")
			waitForFile(t, name+".part")
			switch kind {
			case "file":
				check(t, os.WriteFile(name, []byte("not to be lost"), 0o600))
			case "link":
				if err := os.Symlink("target", name); err != nil {
					t.Skip(err)
				}
			case "directory":
				check(t, os.Mkdir(name, 0o700))
			}
			s.release()
			p.end(t).want(t, 0)
			wantFile(t, name+".1", 3e6, "")
			if kind != "directory" {
				if text, err := os.ReadFile(name); err != nil || string(text) != "not to be lost" {
					t.Errorf("%q, %v", text, err)
				}
			}
		})
	}
}
