package main_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// process is an mlget on the loopback link that runs while the test goes on.
type process struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

func startMlget(t testing.TB, dir string, args ...string) *process {
	t.Helper()
	p := prepareMlget(t, dir, args...)
	check(t, p.Start())
	return p
}

// prepareMlget is one that is still to be started.
func prepareMlget(t testing.TB, dir string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	p := &process{Cmd: exec.CommandContext(ctx, "mlget", append([]string{"--links", loopback()}, args...)...)}
	p.Dir, p.Stdout, p.Stderr = dir, &p.stdout, &p.stderr
	return p
}

func (p *process) end(t testing.TB) result {
	t.Helper()
	r := result{code: exitCode(t, p.Wait()), stdout: p.stdout.String(), stderr: p.stderr.String()}
	if err := checkOutput(r.code, r.stdout, r.stderr); err != nil {
		t.Errorf("%v\n%s", err, r.stderr)
	}
	return r
}

// waitForFile waits until the file holds the first request's bytes.
func waitForFile(t testing.TB, name string) {
	t.Helper()
	waitForBytes(t, name, 1<<20)
}

// waitForBytes waits until the file has at least that many bytes.
func waitForBytes(t testing.TB, name string, n int64) {
	t.Helper()
	for deadline := time.Now().Add(hang); ; time.Sleep(5 * time.Millisecond) {
		if fi, err := os.Stat(name); err == nil && fi.Size() >= n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", name)
		}
	}
}

// wantFile checks that a file is what the site has of a size.
func wantFile(t testing.TB, name string, size int64, content string) {
	t.Helper()
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%x", sha256.Sum256(have)) != body(size, content).SHA256() {
		t.Errorf("%s is not what the site has", name)
	}
}

// TestTheSameTwice: the second mlget keeps away from the first one's file.
func TestTheSameTwice(t *testing.T) {
	s := newSite(t)
	s.set("hang", "1500000")
	dir, url := t.TempDir(), s.clear.URL+"/hang/3000000/f.bin"
	p := startMlget(t, dir, url)
	waitForFile(t, filepath.Join(dir, "f.bin.part"))
	mlget(t, dir, url).want(t, 3, "^mlget: .*another mlget is downloading", "^mlget: hint: -o FILE")
	mlget(t, dir, "-o", "f.bin", url).want(t, 3, "^mlget: .*another mlget is downloading")
	s.release()
	p.end(t).want(t, 0)
	wantFile(t, filepath.Join(dir, "f.bin"), 3e6, "")
}

// TestObjectChangesMeanwhile: bytes of two objects are never mixed.
func TestObjectChangesMeanwhile(t *testing.T) {
	s := newSite(t)
	s.set("hang", "6500000")
	dir, url := t.TempDir(), s.clear.URL+"/hang/40000000/f.bin"
	p := startMlget(t, dir, "--algorithm", "1", "--static-limit", "1M", url)
	asked := 0
	for deadline := time.Now().Add(hang); asked < 5; time.Sleep(5 * time.Millisecond) {
		asked += len(s.seen())
		if time.Now().After(deadline) { // one answer alone would say nothing of a change
			t.Fatal("waited in vain for requests")
		}
	}
	s.set("content", "B")
	s.release()
	p.end(t).want(t, 7, "^mlget: .*object changed", "^mlget: hint: the same command starts over")
	if _, err := os.Stat(filepath.Join(dir, "f.bin")); err == nil {
		t.Error("f.bin is there")
	}
	mlget(t, dir, url).want(t, 0, "starting over")
	wantFile(t, filepath.Join(dir, "f.bin"), 40e6, "B")
}

// TestInterruptMany: one line says it, whatever the number of files, and each of
// them goes on in the next run.
func TestInterruptMany(t *testing.T) {
	s := newSite(t)
	s.set("hang", "1500000")
	dir := t.TempDir()
	args := []string{"-j", "2", s.clear.URL + "/hang/12000000/a.bin", s.clear.URL + "/hang/12000000/b.bin", s.clear.URL + "/hang/12000000/c.bin"}
	p := startMlget(t, dir, args...)
	waitForBytes(t, filepath.Join(dir, "a.bin.part"), 1) // others may be behind what hangs of it
	if err := interrupt(p.Process); err != nil {
		t.Fatal(err)
	}
	r := p.end(t)
	r.want(t, 130, "^mlget: .*interrupted")
	if n := bytes.Count([]byte(r.stderr), []byte("interrupted")); n != 1 {
		t.Errorf("said %d times:\n%s", n, r.stderr)
	}
	s.release()
	mlget(t, dir, args...).want(t, 0)
	for _, name := range []string{"a.bin", "b.bin", "c.bin"} {
		wantFile(t, filepath.Join(dir, name), 12e6, "")
	}
}

// fileHash is a file's SHA-256.
func fileHash(t testing.TB, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it is only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// TestInterruptList: a list that is still being written holds nothing up.
func TestInterruptList(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	r, w, err := os.Pipe()
	check(t, err)
	defer w.Close() //nolint:errcheck // it is the list that does not end
	p := prepareMlget(t, dir, "-i", "-")
	p.Stdin = r
	check(t, p.Start())
	check(t, r.Close())
	_, err = fmt.Fprintf(w, "%[1]s/ranges/1000/a.bin\n%[1]s/ranges/2000/b.bin\n", s.clear.URL)
	check(t, err)
	waitForBytes(t, filepath.Join(dir, "a.bin"), 1000) // while the list is open
	check(t, interrupt(p.Process))
	p.end(t).want(t, 130, "^mlget: .*interrupted")
}
