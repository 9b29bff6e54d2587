package engine

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
)

func TestServersWithoutRanges(t *testing.T) {
	t.Parallel()
	t.Run("portal on one link", func(t *testing.T) {
		t.Parallel()
		for bad := range 2 {
			t.Run(fmt.Sprint(bad), func(t *testing.T) {
				t.Parallel()
				o := newObject(3 * mib)
				nets := []*testLink{{name: "a"}, {name: "b"}}
				portal := newObject(3000)
				portal.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
					portal.whole(w)
					return true
				}
				nets[bad].to = serve(t, portal).Listener.Addr().String()
				nets[1-bad].latency = 300 * time.Millisecond
				// The good server is busy at first.
				o.gate = func(w http.ResponseWriter, _ *http.Request, n int64) bool {
					if n == 1 {
						w.WriteHeader(http.StatusServiceUnavailable)
					}
					return n == 1
				}
				r := newRig(t, nets...)
				got := r.get(at(t, serve(t, o), "", "/f"))
				got.right(o.body)
				if c := got.carried(2); c[bad] != 0 {
					t.Errorf("carried %v", c)
				}
			})
		}
	})
	for _, kind := range []string{"length", "chunked", "close"} {
		body := newObject(3 * mib)
		answer := func(w http.ResponseWriter, most int64) {
			switch kind {
			case "length":
				w.Header().Set("Etag", body.etag)
				w.Header().Set("Content-Length", fmt.Sprint(body.body.Size))
				_, _ = w.Write(bytesOf(body.body, 0, most))
			case "chunked":
				w.Header().Set("Etag", body.etag)
				w.(http.Flusher).Flush()
				_, _ = w.Write(bytesOf(body.body, 0, most))
				if most < body.body.Size {
					panic(http.ErrAbortHandler)
				}
			case "close":
				hijack(w, []byte("HTTP/1.0 200 OK\r\nEtag: \"v1\"\r\n\r\n"), bytesOf(body.body, 0, most))
			}
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			got := r.get(at(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				answer(w, body.body.Size)
			})), "", "/f"))
			got.right(body.body)
			if ofKnown(t, got).Ranges {
				t.Error("there are no ranges")
			}
		})
		if kind == "close" {
			continue
		}
		t.Run(kind+", the link dies", func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			r := newRig(t)
			got := r.get(at(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if n.Add(1) <= 2 { // the links' first requests; one of them is read
					answer(w, mib)
					return
				}
				answer(w, body.body.Size)
			})), "", "/f"))
			got.right(body.body)
			used := map[int]bool{}
			for _, e := range of[event.LinkChanged](got) {
				used[int(e.Link)] = used[int(e.Link)] || e.State == event.LinkUsed
			}
			for i, c := range got.carried(2) {
				if c > 0 && !used[i] {
					t.Errorf("nothing says that link %d is used", i)
				}
			}
		})
	}
	t.Run("a server that forgets ranges now and then", func(t *testing.T) {
		t.Parallel()
		o := newObject(6 * mib)
		o.gate = func(w http.ResponseWriter, _ *http.Request, n int64) bool {
			if n == 2 || n == 3 {
				o.whole(w)
			}
			return n == 2 || n == 3
		}
		r := newRig(t, &testLink{name: "a", rate: 4 * mib})
		r.get(at(t, serve(t, o), "", "/f")).right(o.body)
	})
	t.Run("whole mode starts on a link that answers", func(t *testing.T) {
		t.Parallel()
		o := newObject(2 * mib)
		o.gate = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			off, end := asked(r)
			if r.Header.Get("Range") == "" {
				return false
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/*", off, end-1))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(bytesOf(o.body, off, end))
			return true
		}
		r := newRig(t)
		r.nets[0].hole.Store(true)
		start := time.Now()
		r.get(at(t, serve(t, o), "", "/f")).right(o.body)
		if took := time.Since(start); took > 8*time.Second {
			t.Errorf("took %v", took)
		}
	})
	t.Run("an empty 416 answers a request for the whole, for ever", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, &testLink{name: "a"})
		r.cfg.Tries = 3
		var n atomic.Int64
		got := r.get(at(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if n.Add(1) > 10 {
				t.Error("no end of it")
				time.Sleep(time.Second)
			}
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		})), "", "/f"))
		got.class(fetch.Unsatisfied)
	})
}
