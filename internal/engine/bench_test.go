package engine

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

// nullSink takes everything and keeps nothing.
type nullSink struct{}

func (nullSink) Resume() (id identity.Identity, done []scheduler.Range, ok bool) {
	return id, nil, false
}
func (nullSink) Begin(identity.Identity) error                               { return nil }
func (nullSink) Restart() error                                              { return nil }
func (nullSink) WriteAt(p []byte, _ int64) (int, error)                      { return len(p), nil }
func (nullSink) ReadAt(p []byte, _ int64) (int, error)                       { clear(p); return len(p), nil }
func (nullSink) Checkpoint([]scheduler.Range) error                          { return nil }
func (nullSink) Suspend([]scheduler.Range) error                             { return nil }
func (nullSink) Reject() error                                               { return nil }
func (nullSink) Commit(context.Context, store.CommitOptions) (string, error) { return "", nil }
func (nullSink) Close() error                                                { return nil }

func (nullSink) stream() *streamSink { return nil }

// plain is a link over loopback without faults.
type plain struct{ net.Dialer }

func (*plain) Name() string { return "lo" }

// zeros serves ranges of an object of zeros and allocates only per request.
func zeros(t testing.TB, size int64) *url.URL {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	block := make([]byte, 256<<10)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				br := bufio.NewReader(conn)
				for {
					r, err := http.ReadRequest(br)
					if err != nil {
						return
					}
					off, end := asked(r)
					end = min(end, size)
					_, _ = fmt.Fprintf(conn, "HTTP/1.1 206 Partial Content\r\nEtag: \"z\"\r\nContent-Range: bytes %d-%d/%d\r\nContent-Length: %d\r\n\r\n", off, end-1, size, end-off)
					for left := end - off; left > 0; {
						n, err := conn.Write(block[:min(left, int64(len(block)))])
						if err != nil {
							return
						}
						left -= int64(n)
					}
				}
			}()
		}
	}()
	u, err := url.Parse("http://" + ln.Addr().String() + "/z")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func bench(t testing.TB, u *url.URL, to sink, block int) {
	t.Helper()
	var bus event.Bus
	started := time.Now()
	links := NewLinks(&bus, started, []Network{&plain{}}, make([]Terms, 1), 0, block)
	e, err := New(Config{Bus: &bus, Started: started, Algorithm: "3", Padding: 0.3, BlockSize: block, Tries: 3, StallTimeout: 10 * time.Second}, links)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.fill(context.Background(), &Job{URL: u}, to); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkLoopback moves 1 GB over one link in clear; the server's work is in
// the figures.
func BenchmarkLoopback(b *testing.B) {
	const size = 1_000_000_000
	u := zeros(b, size)
	b.SetBytes(size)
	b.ReportAllocs()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		bench(b, u, nullSink{}, DefaultBlockSize)
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(b.N)/(size/1e6), "allocs/MB")
}

// TestNoAllocationPerBlock holds a download's allocations, which its requests,
// samples and steps make, against its blocks: there are 100,000. How many requests and steps
// there are depends on how busy the machine is.
func TestNoAllocationPerBlock(t *testing.T) {
	const size, block = 200_000_000, 2000
	u := zeros(t, size)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	bench(t, u, nullSink{}, block)
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n > size/block/2 {
		t.Errorf("%d allocations for %d blocks", n, size/block)
	}
}
