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

// slowReader hashes what it reads, and rests once in the middle.
type slowReader struct {
	in     io.Reader
	rested bool
	after  int64
	read   int64
}

func (s *slowReader) Read(p []byte) (int, error) {
	if s.read >= s.after && !s.rested {
		s.rested = true
		time.Sleep(time.Second)
	}
	n, err := s.in.Read(p)
	s.read += int64(n)
	return n, err
}

// TestSlowConsumer: what nobody takes is not fetched, so the memory is bounded.
func TestSlowConsumer(t *testing.T) {
	t.Parallel()
	const size = 300e6 // more than twice the bound
	s := newSite(t)
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, "mlget", "--links", loopback(), "-o", "-", "--report", "r.json", fmt.Sprintf("%s/ranges/%d/x", s.clear.URL, int64(size)))
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	if _, err := io.Copy(h, &slowReader{in: out, after: 20e6}); err != nil {
		t.Error(err)
	}
	if code := exitCode(t, cmd.Wait()); code != 0 {
		t.Fatalf("exit %d\n%s", code, stderr.String())
	}
	if sum := fmt.Sprintf("%x", h.Sum(nil)); sum != body(size, "").SHA256() {
		t.Error("the bytes are not in order")
	}
	r := readReport(t, filepath.Join(dir, "r.json"))
	t.Logf("peak memory %d MB", r.MaxRSSBytes/1e6)
	if r.MaxRSSBytes > 100e6 {
		t.Errorf("peak memory %d MB", r.MaxRSSBytes/1e6)
	}
}

// TestBrokenPipe: a reader that goes away ends the download with an error.
func TestBrokenPipe(t *testing.T) {
	s := newSite(t)
	for _, habit := range []string{"ranges", "chunked"} {
		ctx, cancel := context.WithTimeout(t.Context(), hang)
		cmd := exec.CommandContext(ctx, "mlget", "--links", loopback(), "-o", "-", s.clear.URL+"/"+habit+"/50000000/x")
		cmd.Dir = t.TempDir()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, out, 100e3); err != nil {
			t.Error(err)
		}
		if err := out.Close(); err != nil {
			t.Error(err)
		}
		res := result{code: exitCode(t, cmd.Wait()), stderr: stderr.String()}
		if err := checkOutput(res.code, "", res.stderr); err != nil {
			t.Error(err)
		}
		res.want(t, 3, "^mlget: .*broken pipe")
		cancel()
	}
}

// TestLimitRate: a limit that is far below what the link gives is kept.
func TestLimitRate(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	dir := t.TempDir()
	mlget(t, dir, "--limit-rate", "1MB", "--report", "slow.json", s.clear.URL+"/ranges/2500000/a.bin").want(t, 0)
	mlget(t, dir, "--report", "quick.json", s.clear.URL+"/ranges/2500000/b.bin").want(t, 0)
	mlget(t, dir, "--link", loopback()+",rate=1MB", "--report", "link.json", s.clear.URL+"/ranges/2500000/c.bin").want(t, 0)
	quick := readReport(t, filepath.Join(dir, "quick.json")).ThroughputMbps
	for range 3 { // a busy machine can make it slow, but not fast
		if quick < 30 {
			check(t, os.Remove(filepath.Join(dir, "b.bin")))
			mlget(t, dir, "--report", "quick.json", s.clear.URL+"/ranges/2500000/b.bin").want(t, 0)
			quick = max(quick, readReport(t, filepath.Join(dir, "quick.json")).ThroughputMbps)
		}
	}
	for _, name := range []string{"slow.json", "link.json"} {
		if slow := readReport(t, filepath.Join(dir, name)).ThroughputMbps; slow > 12 || slow < 1 || quick < 2*slow {
			t.Errorf("%s: %.1f Mbit/s with a limit of 8, %.1f without", name, slow, quick)
		}
	}
}

// TestBadCertificateIsNotTriedAgain: one handshake, and no request.
func TestBadCertificateIsNotTriedAgain(t *testing.T) {
	s := newSite(t)
	mlget(t, t.TempDir(), s.secure.URL+"/ranges/1000/x").want(t, 5, "^mlget: .*certificate")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns != 1 || len(s.requests) != 0 {
		t.Errorf("%d connections, requests %q", s.conns, s.requests)
	}
}
