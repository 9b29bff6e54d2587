package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
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

// TestContinueAfterAnotherProgram: what aria2 and axel leave of a file is as long as all of it,
// and most of it is not there. It is left to them.
func TestContinueAfterAnotherProgram(t *testing.T) {
	const size = 3_000_000
	for name, args := range map[string][]string{
		"aria2, reserved":   {"aria2c", "-q", "--no-conf", "--disk-cache=0", "--no-file-allocation-limit=0", "--file-allocation=prealloc", "-o", "f.bin"},
		"aria2, fallocated": {"aria2c", "-q", "--no-conf", "--disk-cache=0", "--no-file-allocation-limit=0", "--file-allocation=falloc", "-o", "f.bin"},
		"aria2, sparse":     {"aria2c", "-q", "--no-conf", "--disk-cache=0", "--no-file-allocation-limit=0", "--file-allocation=trunc", "-x2", "-k1M", "-o", "f.bin"},
		"axel":              {"axel", "-q", "-n", "2", "-o", "f.bin"},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := exec.LookPath(args[0])
			if err != nil {
				t.Skip(err)
			}
			s, dir := newSite(t), t.TempDir()
			s.set("hang", "1000000")
			file, url := filepath.Join(dir, "f.bin"), s.clear.URL+fmt.Sprintf("/hang/%d/f.bin", size)
			other := exec.Command(path, append(args[1:], url)...)
			other.Dir = dir
			check(t, other.Start())
			waitUntil(t, "its bytes", func() bool { fi, err := os.Stat(file); return err == nil && fi.Size() > 0 })
			time.Sleep(200 * time.Millisecond) // it writes what it has
			check(t, interrupt(other.Process))
			_ = other.Wait() // it was interrupted
			left, err := os.ReadFile(file)
			check(t, err)
			there, err := os.ReadDir(dir)
			check(t, err)
			if len(there) < 2 && name != "aria2, sparse" {
				t.Fatalf("it has left %v", there)
			}
			startMlget(t, dir, "-c", url).end(t).want(t, 3, "^mlget: .*f.bin: another program has not finished it", "^mlget: hint: finish it with that program")
			if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, left) {
				t.Errorf("f.bin has changed: %v", err)
			}
			if now, err := os.ReadDir(dir); err != nil || len(now) != len(there) {
				t.Errorf("there are %v, and were %v", now, there)
			}
			s.release()
		})
	}
}
