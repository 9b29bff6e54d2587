package engine

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

func TestServersWithoutRanges(t *testing.T) {
	t.Parallel()
	t.Run("portal on one link", func(t *testing.T) {
		t.Parallel()
		for bad := range 2 {
			t.Run(fmt.Sprint(bad), timeless(func(t *bubble) {
				o := newObject(3 * mib)
				nets := []*testLink{{name: "a"}, {name: "b"}}
				portal := newObject(3000)
				portal.gate = portal.noRanges
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
			}))
		}
	})
	// What the good link asks for first lies behind the object's end: its server
	// says so, and how large the object is.
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprint("portal on one link, small object, its page of known size: ", known), timeless(func(t *bubble) { // it is not waited for for ever
			o := newObject(200_000)
			portal := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte("log in"))
				if !known {
					w.(http.Flusher).Flush()
				}
			}))
			nets := []*testLink{{name: "a", to: portal.Listener.Addr().String()}, {name: "b", latency: 50 * time.Millisecond}}
			got := newRig(t, nets...).get(at(t, serve(t, o), "", "/f"))
			got.right(o.body)
			if c := got.carried(2); c[0] != 0 {
				t.Errorf("carried %v", c)
			}
		}))
	}
	for _, c := range []struct {
		name, path string
		trip       time.Duration // of the good link
		whole      bool          // its server knows no ranges either
		page       bool          // the portal's page is what one gets
		most       time.Duration
	}{
		{"portal, the other link answers late", "/f.iso", 5 * time.Second, false, false, time.Minute},
		{"portal, the other link's server knows no ranges", "/f.iso", 300 * time.Millisecond, true, false, time.Minute},
		{"portal, the other link answers late and without ranges", "/f.iso", 5 * time.Second, true, false, time.Minute},
		{"a page where one may be, the other link answers late", "/f.html", 20 * time.Second, false, true, 4 * time.Second},
		{"a page at a path that says nothing", "/docs/v1.2", 20 * time.Second, false, true, 4 * time.Second},
	} {
		t.Run(c.name, timeless(func(t *bubble) {
			o, page := newObject(mib), newObject(3000) // the late link takes its time for each request
			if c.whole {
				o.gate = o.noRanges
			}
			page.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				page.whole(w)
				return true
			}
			portal := serve(t, page).Listener.Addr().String()
			r := newRig(t, &testLink{name: "a", to: portal}, &testLink{name: "b", latency: c.trip})
			r.cfg.StallTimeout = time.Minute
			begun := time.Now()
			got := r.get(at(t, serve(t, o), "", c.path))
			if c.page {
				got.right(page.body)
			} else {
				got.right(o.body)
			}
			if took := time.Since(begun); took > c.most {
				t.Errorf("took %v", took)
			}
		}))
	}
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
		t.Run(kind, timeless(func(t *bubble) {
			r := newRig(t)
			got := r.get(at(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				answer(w, body.body.Size)
			})), "", "/f"))
			got.right(body.body)
			if ofKnown(t, got).Ranges {
				t.Error("there are no ranges")
			}
		}))
		if kind == "close" {
			continue
		}
		t.Run(kind+", the link dies", timeless(func(t *bubble) {
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
		}))
	}
	// The window of the only response must not end where the range did that was asked for.
	t.Run("over HTTP/2, more than was asked for", timeless(func(t *bubble) {
		o := newObject(24 * mib)
		var asked atomic.Int64
		o.gate = func(w http.ResponseWriter, _ *http.Request, n int64) bool {
			asked.Store(n)
			o.whole(w)
			return true
		}
		r := newRig(t, &testLink{name: "a"})
		r.cfg.HTTP.Protocol = fetch.HTTP2PriorKnowledge
		r.get(at(t, serve(t, o), "", "/f")).right(o.body)
		if n := asked.Load(); n != 1 {
			t.Errorf("asked for %d times", n)
		}
	}))
	t.Run("a server that forgets ranges now and then", timeless(func(t *bubble) {
		o := newObject(6 * mib)
		o.gate = func(w http.ResponseWriter, _ *http.Request, n int64) bool {
			if n == 2 || n == 3 {
				o.whole(w)
			}
			return n == 2 || n == 3
		}
		r := newRig(t, &testLink{name: "a", rate: 4 * mib})
		r.get(at(t, serve(t, o), "", "/f")).right(o.body)
	}))
	t.Run("whole mode starts on a link that answers", timeless(func(t *bubble) {
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
	}))
	t.Run("an empty 416 answers a request for the whole, for ever", timeless(func(t *bubble) {
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
	}))
}

// A link that nobody asks, as it rests or there is another, is not waited for.
func TestWithoutRangesNobodyIsWoken(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"backup", "costly", "single"} {
		t.Run(how, timeless(func(t *bubble) {
			o := newObject(2 * mib)
			o.gate = o.noRanges
			r := newRig(t)
			switch how {
			case "backup":
				r.terms[0].Backup = true
			case "costly":
				r.cfg.Energy = scheduler.EnergyMin
				wifi := scheduler.Radio{ActiveMW: 133, MWPerMbps: 140, PromotionMJ: 10, TailMJ: 28, TailTime: 240 * scheduler.Millisecond}
				lte := scheduler.Radio{ActiveMW: 1288, MWPerMbps: 60, PromotionMJ: 315, TailMJ: 12300, TailTime: 11 * scheduler.Second}
				r.terms[0] = Terms{Bandwidth: 1e7, Terms: scheduler.Terms{Radio: lte, Costly: true}}
				r.terms[1] = Terms{Bandwidth: 1e7, Terms: scheduler.Terms{Radio: wifi}}
			case "single":
				r.cfg.Algorithm = how
			}
			begun := time.Now()
			r.get(at(t, serve(t, o), "", "/f")).right(o.body)
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("took %v", took)
			}
			if a, b := r.nets[0].dials.Load(), r.nets[1].dials.Load(); min(a, b) > 0 || how != "single" && a > 0 {
				t.Errorf("%d and %d connections", a, b)
			}
		}))
	}
	t.Run("many files", timeless(func(t *bubble) {
		s := serve(t, &shop{gate: func(w http.ResponseWriter, _ *http.Request, o *object) bool {
			o.lengthless(w)
			return true
		}})
		r := newRig(t)
		r.terms[1].Backup = true
		begun := time.Now()
		r.haul(t.Context(), Batch{}, slices.Repeat([]ware{{base: s, size: 10_000}}, 40)...).right()
		if took, n := time.Since(begun), r.nets[1].dials.Load(); took > 5*time.Second || n > 0 {
			t.Errorf("took %v, %d connections over the backup", took, n)
		}
	}))
}

// What one link's server asks for is not waited for before another link is asked.
func TestOneStreamWaitsForItsOwnLink(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(4 * mib)
		o.gate = o.noRanges
		busy := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "40")
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		r := newRig(t, &testLink{name: "a", rate: 4 * mib}, &testLink{name: "b", rate: 4 * mib, to: busy.Listener.Addr().String()})
		time.AfterFunc(500*time.Millisecond, r.nets[0].breakAll) // once
		begun := time.Now()
		r.get(at(t, serve(t, o), "", "/f")).right(o.body)
		if took := time.Since(begun); took > 15*time.Second {
			t.Errorf("took %v", took)
		}
	})(t)
}

// A backup that joins one stream is one: the other link, which breaks once, goes on.
func TestBackupJoinsOneStream(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(6 * mib)
		o.gate = o.noRanges
		first, second := &testLink{name: "a", rate: 4 * mib}, &testLink{name: "b", rate: 4 * mib}
		r, after := joining(t, 1, first)
		r.nets = append(r.nets, second)
		after(mib, func() {
			r.links[1].Join(second, Terms{Terms: scheduler.Terms{Backup: true}})
			time.Sleep(500 * time.Millisecond)
			first.breakAll()
		})
		r.get(at(t, serve(t, o), "", "/f")).right(o.body)
		if n := second.bytes.Load(); n > 0 {
			t.Errorf("%d bytes over the backup", n)
		}
	})(t)
}

// slowly takes 2 MiB in a second.
type slowly struct{}

func (slowly) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(len(p)) * time.Second / (2 * mib))
	return len(p), nil
}

// A link that moves goes on, also where its bytes wait just then for the rate that the user
// allows, or for the consumer of a stream.
func TestMovedWhileItsBytesWait(t *testing.T) {
	for _, how := range []string{"rate", "consumer"} {
		t.Run(how, timeless(func(t *bubble) {
			o := newObject(24 * mib)
			o.gate = o.noRanges
			r := newRig(t, &testLink{name: "a", rate: 32 * mib})
			r.cfg.Record = false
			job := r.job(at(t, serve(t, o), "", "/f"))
			if how == "rate" {
				r.cfg.LimitRate = NewLimiter(4*mib, DefaultBlockSize)
			} else {
				job.Stdout = slowly{}
			}
			r.engine().Close()
			time.AfterFunc(1500*time.Millisecond, func() { r.links[0].Renew(r.nets[0], true) })
			if got := r.do(t.Context(), job); got.err != nil {
				t.Error(got.err)
			}
			time.Sleep(time.Minute) // until the consumer has taken what it was given
		}))
	}
}

// A body that ends with its connection over TLS is complete only where the server says so
// (RFC 9112, 9.8); else it is asked for again.
func TestTLSConnectionIsCut(t *testing.T) {
	for name, cuts := range map[string]int64{"once": 1, "again and again": 100} {
		t.Run(name, timeless(func(t *bubble) {
			o := newObject(mib)
			o.gate = func(w http.ResponseWriter, _ *http.Request, n int64) bool {
				if n > cuts {
					hijack(w, []byte("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"), bytesOf(o.body, 0, o.body.Size))
					return true
				}
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return true
				}
				_, _ = conn.Write(append([]byte("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"), bytesOf(o.body, 0, mib/2)...))
				_ = conn.(*tls.Conn).NetConn().Close()
				return true
			}
			r := newRig(t, &testLink{name: "a"})
			r.cfg.Tries = 3
			s, web := serveTLS(t, o)
			r.cfg.HTTP = web
			r.cfg.HTTP.Protocol = fetch.HTTP1
			got := r.get(at(t, s, "", "/f"))
			if cuts == 1 {
				got.right(o.body)
				return
			}
			got.class(fetch.Network)
			if n := o.requests.Load(); n != unannouncedTries {
				t.Errorf("asked for %d times", n)
			}
		}))
	}
}
