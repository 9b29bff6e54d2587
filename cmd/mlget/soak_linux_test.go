package main_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/soaktest"
)

// holding is what a process has of the things that leak.
type holding struct {
	descriptors, requests int
	goroutines            int   // those of requests apart
	resident              int64 // bytes
}

func (h holding) String() string {
	return fmt.Sprintf("%d descriptors, %d requests, %d goroutines, %d KiB", h.descriptors, h.requests, h.goroutines, h.resident>>10)
}

// holdingOf looks at a running mlget, which then ends: how many goroutines there
// are, it tells when it is asked to quit.
func holdingOf(t *testing.T, p *os.Process, stderr *bytes.Buffer, wait func() error) (h holding) {
	t.Helper()
	h.descriptors = descriptorsOf(t, p.Pid)
	h.resident = residentOf(t, p.Pid)
	check(t, p.Signal(syscall.SIGQUIT))
	_ = wait() // it ends with all its stacks
	h.requests = strings.Count(stderr.String(), "\ncreated by github.com/mlget/mlget/internal/engine.(*owner).launch ")
	h.goroutines = strings.Count("\n"+stderr.String(), "\ngoroutine ") - h.requests
	if h.goroutines <= 0 {
		t.Fatalf("it told nothing of its goroutines:\n%s", stderr)
	}
	return h
}

func descriptorsOf(t *testing.T, pid int) int {
	t.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	check(t, err)
	return len(fds)
}

// wantFlat compares what is held early and late.
func wantFlat(t *testing.T, early, late holding) {
	t.Helper()
	t.Logf("early: %v; late: %v", early, late)
	// A connection more is no leak, nor are its goroutines. Requests queue for a connection, more of
	// them the faster it is; of those that have ended none is left.
	more := max(late.descriptors-early.descriptors, 0)
	if more > 4 || late.requests > 64 || late.goroutines > early.goroutines+4+2*more || late.resident > early.resident+16<<20 {
		t.Errorf("it held %v early, and %v late", early, late)
	}
}

// troubled serves an object whose answers cost a connection each, or fail, or are
// cut off, in turns; what lies beyond limit hangs.
type troubled struct {
	site  *site
	limit int64
	size  int64

	mu       sync.Mutex
	requests int
	hanging  bool
	hung     chan struct{} // closed when an answer hangs
}

func (s *troubled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests++
	n := s.requests
	var off int64
	_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &off)
	if off >= s.limit && !s.hanging {
		s.hanging = true
		close(s.hung)
	}
	hang := off >= s.limit
	s.mu.Unlock()
	switch {
	case hang:
		<-r.Context().Done()
	case n%200 == 13:
		w.WriteHeader(http.StatusServiceUnavailable)
	case n%200 == 29:
		s.site.raw(w, "")
	case n%200 == 41: // cut off
		s.site.raw(w, fmt.Sprintf("HTTP/1.1 206 Partial Content\r\nEtag: \"v\"\r\nContent-Range: %s/%d\r\n\r\n",
			strings.Replace(r.Header.Get("Range"), "=", " ", 1), s.size))
	default:
		if n%3 > 0 {
			w.Header().Set("Connection", "close")
		}
		w.Header().Set("Etag", `"v"`)
		http.ServeContent(w, r, "", modified(), body(s.size, "").Reader())
	}
}

// TestSoakRequests: after thousands of requests, connections and failures, it
// holds no more than after some. Without a number of connections there would be more or
// fewer of them at the end, as the machine is more or less busy.
func TestSoakRequests(t *testing.T) {
	t.Parallel()
	const size = 160e6
	after := func(limit int64) holding {
		s := &troubled{site: newSite(t), limit: limit, size: size, hung: make(chan struct{})}
		server := httptest.NewServer(s)
		defer server.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 2*hang)
		defer cancel()
		dir := t.TempDir()
		var stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, "mlget", "--links", loopback(), "--algorithm", "1", "--static-limit", "64K", "-p", "4", "-t", "0", "-q",
			"--power", "none", "-o", filepath.Join(dir, "out"), server.URL+"/x")
		cmd.Stderr = &stderr
		check(t, cmd.Start())
		select {
		case <-s.hung:
		case <-ctx.Done():
			_ = cmd.Wait()
			t.Fatalf("it did not come to byte %d: %s", limit, stderr.String())
		}
		time.Sleep(300 * time.Millisecond) // so that connections that are over are closed
		h := holdingOf(t, cmd.Process, &stderr, cmd.Wait)
		s.mu.Lock()
		defer s.mu.Unlock()
		t.Logf("%d requests", s.requests)
		if limit == size-1e6 && s.requests < 2000 {
			t.Errorf("only %d requests", s.requests)
		}
		return h
	}
	wantFlat(t, after(8e6), after(size-1e6))
}

// TestSoakLinks: links that go and come leave nothing behind. Without a number of
// streams they would be taken for links that lose packets at random, which get more
// connections for some time.
func TestSoakLinks(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 300e6}, "wlan0,down=20,rtt=10", "rmnet0,down=20,rtt=30")
	after := func(times int) holding {
		r := l.start(t, "--power", "none", "-q", "--parallelism", "1")
		l.waitFor(t, 1e6)
		for range times {
			for _, link := range []string{"wlan0", "rmnet0"} {
				happen(t, l, link+" down")
				time.Sleep(250 * time.Millisecond)
				happen(t, l, link+" up")
				time.Sleep(250 * time.Millisecond)
			}
		}
		l.waitFor(t, 1e6)
		h := holdingOf(t, r.Process, &r.stderr, r.Wait)
		for _, suffix := range []string{".part", ".part.json"} {
			check(t, os.Remove(filepath.Join(l.dir, "out.bin"+suffix)))
		}
		return h
	}
	wantFlat(t, after(1), after(9))
}

// TestManyLinks: of 64 links that are named 16 are there; they take part, and cost
// little.
func TestManyLinks(t *testing.T) {
	t.Parallel()
	var links, named []string
	for i := range 64 {
		name := fmt.Sprintf("lnk%02d", i)
		named = append(named, name)
		if i%4 == 1 {
			links = append(links, fmt.Sprintf("%s,down=16,rtt=%d", name, 10+i))
		}
	}
	l := startLab(t, linklab.Config{Size: 24e6}, links...)
	r := l.fetch(t, l.URL(), "--power", "none", "--links", strings.Join(named, ","))
	t.Logf("%d links, %.1f s, %d bytes of memory, %.1f s of CPU, %d bytes wasted", carriers(r), r.Seconds, r.MaxRSSBytes, r.CPUSeconds, r.WastedBytes)
	if n := carriers(r); n < 12 || r.MaxRSSBytes > 60e6 {
		t.Errorf("%d of %d links carried bytes; %d bytes of memory", n, len(links), r.MaxRSSBytes)
	}
}

// TestLinksKeepApart: each link's payload comes over that link, from an address of
// its own (curl CVE-2022-27782: a connection is not used for others' requests).
func TestLinksKeepApart(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 16e6, TLS: true}, fastWiFi, fastLTE)
	for _, p := range protocols(l, true) {
		before := l.Stats()
		r := l.fetch(t, p.url, append(p.args, "--algorithm", "naive", "--no-steal")...)
		local := map[string]bool{}
		for i, s := range l.Stats() {
			host, _, _ := strings.Cut(r.Links[i].LocalAddr, ":")
			local[host] = true
			if moved := s.Down.Bytes - before[i].Down.Bytes; moved < r.Links[i].Bytes || r.Links[i].Bytes == 0 {
				t.Errorf("%s: %s brought %d bytes of payload, and carried %d", p.name, s.Name, r.Links[i].Bytes, moved)
			}
		}
		if len(local) != 2 {
			t.Errorf("%s: addresses %v", p.name, local)
		}
	}
}

// TestSoakFiles: a job of thousands of files holds no more at its end than soon
// after its beginning, but for the less than 1 KB of each file that the report needs.
func TestSoakFiles(t *testing.T) {
	t.Parallel()
	const size = 3000
	files := soaktest.Cases(2000, 4000, 20_000)
	s, dir := newSite(t), t.TempDir()
	var list strings.Builder
	for i := range files {
		fmt.Fprintf(&list, "%s/ranges/%d/file-%06d.html\n", s.clear.URL, size, i)
	}
	check(t, os.WriteFile(filepath.Join(dir, "list"), []byte(list.String()), 0o600))
	p := startMlget(t, dir, "-q", "--power", "none", "-P", "out", "-i", "list", "--report", "r.json")
	// 512 files and 64 connections, and what else a program has: not more with more files.
	const mostOpen = 512 + 64 + 32
	over := make(chan struct{})
	var sampled sync.WaitGroup
	var early, late holding // the most in the first fifth, and in the last
	sampled.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
			done, err := os.ReadDir(filepath.Join(dir, "out"))
			fds, err2 := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.Process.Pid))
			if err != nil || err2 != nil {
				continue
			}
			into := &late
			switch n := len(done); {
			case n < files/5:
				into = &early
			case n < files*4/5:
				continue
			}
			into.descriptors = max(into.descriptors, len(fds))
		}
	})
	r := p.end(t)
	close(over)
	sampled.Wait()
	r.want(t, 0)
	got := filesBelow(t, filepath.Join(dir, "out"))
	want := body(size, "").SHA256()
	for name, sum := range got {
		if sum != want {
			t.Errorf("%s is something else", name)
		}
	}
	rep := readReport(t, filepath.Join(dir, "r.json"))
	t.Logf("descriptors: %d early, %d late; %d bytes of memory; %d connections; %.1f s", early.descriptors, late.descriptors,
		rep.MaxRSSBytes, rep.Links[0].Connections, rep.Seconds)
	if len(got) != files || rep.FilesDone != files || rep.MaxRSSBytes > 60e6 || max(early.descriptors, late.descriptors) > mostOpen {
		t.Errorf("%d files, %d of them in the report; %d descriptors early, %d late; %d bytes of memory", len(got), rep.FilesDone,
			early.descriptors, late.descriptors, rep.MaxRSSBytes)
	}
}
