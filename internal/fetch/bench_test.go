package fetch

import (
	"io"
	"net/http"
	"strconv"
	"testing"

	"github.com/mlget/mlget/internal/testbody"
)

// zeros serves any range of a huge object without work, so that what is measured
// is mostly the client.
func zeros() http.Handler {
	block := make([]byte, 1<<20)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		off, end := ranged(r)
		w.Header().Set("Content-Range", "bytes "+strconv.FormatInt(off, 10)+"-"+strconv.FormatInt(end-1, 10)+"/*")
		w.Header().Set("Content-Length", strconv.FormatInt(end-off, 10))
		w.WriteHeader(http.StatusPartialContent)
		for n := end - off; n > 0; n -= min(n, int64(len(block))) {
			if _, err := w.Write(block[:min(n, int64(len(block)))]); err != nil {
				return
			}
		}
	})
}

// TestReadAllocatesNothing: the data path over HTTP/1.1. Of TLS it is crypto/tls that
// makes something for each record, the 24 bytes of an atLeastReader. Over HTTP/2 the
// server, which is in the same process, allocates.
func TestReadAllocatesNothing(t *testing.T) {
	for _, fl := range flavours() {
		if fl.proto != "1.1" {
			continue
		}
		t.Run(fl.name, func(t *testing.T) {
			srv := fl.server(t, zeros())
			c := client(t, fl.config(srv))
			defer c.Close()
			r, err := c.Get(t.Context(), parse(t, srv.URL), 0, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			r.Gather(256 << 10)
			p := make([]byte, 64<<10)
			if _, err := io.ReadFull(r, p[:32<<10]); err != nil { // TLS makes its buffers now
				t.Fatal(err)
			}
			most := 0.
			if fl.name != "h1" {
				most = float64(len(p) >> 14)
			}
			for _, wait := range []bool{false, true} {
				from := readerOf(r, wait)
				if n := testing.AllocsPerRun(200, func() {
					if _, err := io.ReadFull(from, p); err != nil {
						t.Fatal(err)
					}
				}); n >= most+1 {
					t.Errorf("%v allocations per block, waits first: %v", n, wait)
				}
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLargeReadsBypass: what is not in the buffer after the header goes to the
// caller's memory without passing through it.
func TestLargeReadsBypass(t *testing.T) {
	b := testbody.Body{Size: 1 << 20, Seed: 40}
	srv := flavours()[0].server(t, serveBody(b))
	c := client(t, Config{})
	r, err := c.Get(t.Context(), parse(t, srv.URL+"/f"), 0, b.Size)
	if err != nil {
		t.Fatal(err)
	}
	x, ok := r.body.(*exchange)
	if !ok {
		t.Fatal("not http/1.1")
	}
	p := make([]byte, 128<<10)
	for first := true; ; first = false {
		_, err := r.Read(p)
		if !first && x.hc.br.Buffered() != 0 {
			t.Fatal("a large read went through the buffer")
		}
		if err != nil {
			break
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// BenchmarkRead reads 1 GiB per iteration in blocks of 1 MiB.
func BenchmarkRead(b *testing.B) {
	for _, fl := range flavours() {
		b.Run(fl.name, func(b *testing.B) {
			srv := fl.server(b, zeros())
			c := client(b, fl.config(srv))
			u := parse(b, srv.URL)
			p := make([]byte, 1<<20)
			b.SetBytes(1 << 30)
			b.ReportAllocs()
			before := cpuSeconds(b)
			for b.Loop() {
				r, err := c.Get(b.Context(), u, 0, 1<<30)
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = io.ReadFull(r, p)
				}
				if err != io.EOF { //nolint:errorlint // io.ReadFull returns it as it is
					b.Fatal(err)
				}
				if err := r.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((cpuSeconds(b)-before)/float64(b.N), "cpu-s/GiB(both)")
			c.Close()
		})
	}
}
