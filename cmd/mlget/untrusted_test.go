package main_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"sync"
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

// TestContinuedNameIsReplaced: a file that somebody saves under the name, as editors do,
// while -c waits for an answer, is neither moved away nor taken for the one that was there.
func TestContinuedNameIsReplaced(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nobody can replace an open file here")
	}
	const size = 3_000_000
	b := body(size, "")
	right := make([]byte, size)
	_, _ = b.ReadAt(right, 0) // io.EOF at the end
	for kind, left := range map[string][]byte{"beginning": right[:10_000], "all": right} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			name := filepath.Join(dir, "f.bin")
			check(t, os.WriteFile(name, left, 0o600))
			save := sync.OnceValue(func() error {
				return errors.Join(os.WriteFile(name+".new", []byte("not to be lost"), 0o600), os.Rename(name+".new", name))
			})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if err := save(); err != nil {
					t.Error(err)
				}
				w.Header().Set("Etag", `"v"`)
				http.ServeContent(w, r, "", modified(), b.Reader())
			}))
			defer server.Close()
			mlget(t, dir, "-c", server.URL+"/f.bin").want(t, 3, "^mlget: .*f.bin: was removed or replaced by somebody else")
			if text, err := os.ReadFile(name); err != nil || string(text) != "not to be lost" {
				t.Errorf("%.20q, %v", text, err)
			}
		})
	}
}
