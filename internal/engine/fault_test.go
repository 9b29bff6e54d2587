package engine

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
)

// class demands that a download failed with an error of a class.
func (o *outcome) class(want fetch.Class) {
	o.t.Helper()
	if got := classOf(o.err); got != want {
		o.t.Fatalf("error %v is of class %v, want %v", o.err, got, want)
	}
}

// head is a 206 in raw bytes.
func head(o *object, off, end int64) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 206 Partial Content\r\nEtag: %s\r\nContent-Range: bytes %d-%d/%d\r\nContent-Length: %d\r\n\r\n",
		o.etag, off, end-1, o.body.Size, end-off)
}

func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	t.Run("again and again", timeless(func(t *bubble) {
		o := newObject(3 * mib)
		o.gate = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			off, end := asked(r)
			if end-off < 300_000 {
				return false
			}
			hijack(w, head(o, off, end), bytesOf(o.body, off, off+300_000))
			return true
		}
		r := newRig(t, &testLink{name: "a"})
		r.cfg.Tries = 2
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		network := 0
		for _, e := range of[event.RequestEnded](got) {
			if e.Outcome == event.OutcomeNetwork && e.Retry && e.Bytes > 0 {
				network++
			}
		}
		if network < 5 {
			t.Errorf("%d requests ended by the network", network)
		}
	}))
	t.Run("after one byte each, for ever", timeless(func(t *bubble) {
		o := newObject(3 * mib)
		o.gate = func(w http.ResponseWriter, r *http.Request, n int64) bool {
			off, end := asked(r)
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return true
			}
			_, _ = conn.Write(append(head(o, off, end), bytesOf(o.body, off, off+1)...))
			time.Sleep(20 * time.Millisecond)
			_ = conn.Close()
			if n > 12 {
				t.Error("no end of it")
				time.Sleep(time.Second)
			}
			return true
		}
		r := newRig(t, &testLink{name: "a"})
		r.cfg.Tries = 3
		r.get(at(t, serve(t, o), "", "/f")).class(fetch.Network)
	}))
	t.Run("on one link", timeless(func(t *bubble) {
		o := newObject(6 * mib)
		r := newRig(t, &testLink{name: "a", rate: 4 * mib}, &testLink{name: "b", cut: 700_000, rate: 4 * mib})
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		if c := got.carried(2); c[0] == 0 || c[1] == 0 {
			t.Errorf("carried %v", c)
		}
	}))
	t.Run("on a link that is given up with bytes", timeless(func(t *bubble) {
		o := newObject(6 * mib)
		bad := newObject(6 * mib)
		bad.gate = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			off, end := asked(r)
			hijack(w, head(bad, off, end), bytesOf(bad.body, off, min(end, off+9000)))
			return true
		}
		r := newRig(t, &testLink{name: "a", rate: 2 * mib}, &testLink{name: "b", to: serve(t, bad).Listener.Addr().String()})
		r.cfg.Tries = 2
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		if c := got.carried(2); c[1] != 18000 {
			t.Errorf("carried %v", c)
		}
	}))
	t.Run("over http/2", func(t *testing.T) {
		t.Parallel()
		for _, kind := range []string{"cut", "silent", "streams are reset"} {
			t.Run(kind, timeless(func(t *bubble) {
				o := newObject(6 * mib)
				r := newRig(t, &testLink{name: "a", rate: 4 * mib}, &testLink{name: "b", rate: 4 * mib})
				switch kind {
				case "cut":
					r.nets[1].cut = 600_000
				case "silent":
					time.AfterFunc(400*time.Millisecond, func() { r.nets[1].hole.Store(true) })
				case "streams are reset":
					o.gate = func(w http.ResponseWriter, r *http.Request, n int64) bool {
						off, end := asked(r)
						if n%2 == 0 || end-off < 200_000 || end > o.body.Size {
							return false
						}
						w.Header().Set("Etag", o.etag)
						w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", off, end-1, o.body.Size))
						w.WriteHeader(http.StatusPartialContent)
						_, _ = w.Write(bytesOf(o.body, off, off+200_000))
						w.(http.Flusher).Flush()
						panic(http.ErrAbortHandler)
					}
				}
				s, web := serveTLS(t, o)
				r.cfg.HTTP = web
				got := r.get(at(t, s, "", "/f"))
				got.right(o.body)
				if known := ofKnown(t, got); known.HTTP != "2" {
					t.Errorf("over HTTP/%s", known.HTTP)
				}
			}))
		}
	})
	t.Run("whole object, for ever", timeless(func(t *bubble) {
		o := newObject(3 * mib)
		o.gate = func(w http.ResponseWriter, _ *http.Request, n int64) bool {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return true
			}
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", o.body.Size)
			_, _ = conn.Write(bytesOf(o.body, 0, 200_000))
			time.Sleep(300 * time.Millisecond)
			_ = conn.Close()
			if n > 8 {
				t.Error("no end of it")
				time.Sleep(time.Second)
			}
			return true
		}
		r := newRig(t, &testLink{name: "a"})
		r.cfg.Tries = 3
		r.get(at(t, serve(t, o), "", "/f")).class(fetch.Network)
	}))
	t.Run("no end of tries", timeless(func(t *bubble) {
		o := newObject(mib)
		o.gate = func(w http.ResponseWriter, _ *http.Request, n int64) bool {
			if n <= 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			return n <= 3
		}
		r := newRig(t, &testLink{name: "a"})
		r.cfg.Tries = 0
		r.get(at(t, serve(t, o), "", "/f")).right(o.body)
	}))
}

func TestServerErrors(t *testing.T) {
	t.Parallel()
	status := func(code int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if len(header) > 0 {
				w.Header().Set(header[0], header[1])
			}
			w.WriteHeader(code)
		}
	}
	t.Run("busy, then fine", func(t *testing.T) {
		t.Parallel()
		for _, code := range []int{408, 429, 500, 502, 503, 504} {
			t.Run(fmt.Sprint(code), timeless(func(t *bubble) {
				o := newObject(3 * mib)
				var first atomic.Int64
				o.gate = func(w http.ResponseWriter, r *http.Request, n int64) bool {
					if n > 2 {
						if since := time.Since(time.Unix(0, first.Load())); since < 900*time.Millisecond {
							t.Errorf("asked again after %v", since)
						}
						return false
					}
					first.CompareAndSwap(0, time.Now().UnixNano())
					status(code, "Retry-After", "1")(w, r)
					return true
				}
				r := newRig(t)
				got := r.get(at(t, serve(t, o), "", "/f"))
				got.right(o.body)
			}))
		}
	})
	for _, tc := range []struct {
		name  string
		code  int
		class fetch.Class
	}{{"not found", 404, fetch.Status}, {"forbidden", 403, fetch.Status}, {"not for us", 401, fetch.Auth}, {"busy for ever", 503, fetch.Busy}} {
		t.Run(tc.name, timeless(func(t *bubble) {
			r := newRig(t)
			r.cfg.Tries = 2
			r.get(at(t, serve(t, status(tc.code)), "", "/f")).class(tc.class)
		}))
		t.Run(tc.name+" on one link", func(t *testing.T) {
			t.Parallel()
			for bad := range 2 {
				t.Run(fmt.Sprint(bad), timeless(func(t *bubble) {
					o := newObject(3 * mib)
					nets := []*testLink{{name: "a", rate: 4 * mib}, {name: "b", rate: 4 * mib}}
					nets[bad].to = serve(t, status(tc.code)).Listener.Addr().String()
					r := newRig(t, nets...)
					r.cfg.Tries = 2
					got := r.get(at(t, serve(t, o), "", "/f"))
					got.right(o.body)
					if c := got.carried(2); c[bad] != 0 {
						t.Errorf("carried %v", c)
					}
				}))
			}
		})
	}
	t.Run("the answer that matters is reported", timeless(func(t *bubble) {
		r := newRig(t)
		r.nets[0].dnsOut.Store(true)
		r.get(at(t, serve(t, status(404)), "site.test", "/f")).class(fetch.Status)
	}))
	t.Run("wrong content-range", timeless(func(t *bubble) {
		r := newRig(t)
		r.get(at(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes 7-8/1000000")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write([]byte("ab"))
		})), "", "/f")).class(fetch.Protocol)
	}))
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	t.Run("no such host on one link", timeless(func(t *bubble) {
		o := newObject(3 * mib)
		r := newRig(t)
		r.nets[0].dnsOut.Store(true)
		r.get(at(t, serve(t, o), "site.test", "/f")).right(o.body)
	}))
	t.Run("no such host for a while", timeless(func(t *bubble) {
		o := newObject(3 * mib)
		l := &testLink{name: "a", rate: 8 * mib, cut: 2 * mib}
		r := newRig(t, l)
		o.gate = func(_ http.ResponseWriter, _ *http.Request, n int64) bool {
			if n == 2 {
				l.strangers.Store(1)
			}
			return false
		}
		r.get(at(t, serve(t, o), "site.test", "/f")).right(o.body)
	}))
	t.Run("no such host", timeless(func(t *bubble) {
		r := newRig(t)
		r.nets[0].dnsOut.Store(true)
		r.nets[1].dnsOut.Store(true)
		r.get(at(t, serve(t, newObject(1)), "site.test", "/f")).class(fetch.DNS)
	}))
	t.Run("refused at first", timeless(func(t *bubble) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = ln.Close()
		r := newRig(t)
		s := serve(t, newObject(1))
		u := at(t, s, "", "/f")
		u.Host = ln.Addr().String()
		start := time.Now()
		r.get(u).class(fetch.Refused)
		if r.nets[0].dials.Load() != 1 || time.Since(start) > 5*time.Second {
			t.Errorf("%d attempts", r.nets[0].dials.Load())
		}
	}))
	t.Run("refused later", timeless(func(t *bubble) {
		o := newObject(3 * mib)
		l := &testLink{name: "a", rate: 8 * mib, cut: 2 * mib}
		r := newRig(t, l)
		o.gate = func(_ http.ResponseWriter, _ *http.Request, n int64) bool {
			if n == 2 {
				l.refusals.Store(1)
			}
			return false
		}
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		if l.dials.Load() < 3 {
			t.Errorf("%d dials", l.dials.Load())
		}
	}))
	t.Run("certificate of nobody", timeless(func(t *bubble) {
		s, _ := serveTLS(t, newObject(1))
		r := newRig(t)
		r.get(at(t, s, "", "/f")).class(fetch.TLS)
	}))
}

func TestSilentLinks(t *testing.T) {
	t.Parallel()
	t.Run("one of two", timeless(func(t *bubble) {
		o := newObject(12 * mib)
		r := newRig(t, &testLink{name: "a", rate: 4 * mib}, &testLink{name: "b", rate: 4 * mib})
		time.AfterFunc(500*time.Millisecond, func() { r.nets[1].hole.Store(true) })
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		banned := false
		for _, e := range of[event.LinkChanged](got) {
			banned = banned || e.Link == 1 && e.State == event.LinkBanned
		}
		if !banned {
			t.Error("the silent link was not banned")
		}
	}))
	t.Run("one of two, whose interface says that it is back", timeless(func(t *bubble) {
		o := newObject(12 * mib)
		r := newRig(t, &testLink{name: "a", rate: 3 * mib}, &testLink{name: "b", rate: 3 * mib})
		time.AfterFunc(300*time.Millisecond, func() { r.nets[1].hole.Store(true) })
		r.engine().Close() // it made the links
		done := make(chan struct{})
		go func() { // a hole answers no probe: only the interface's word ends a ban
			defer close(done)
			for range 150 {
				time.Sleep(20 * time.Millisecond)
				for _, l := range r.links {
					l.Returned()
				}
			}
		}()
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		<-done
		back := false
		for _, e := range of[event.LinkChanged](got) {
			back = back || e.Link == 1 && e.State == event.LinkUsed && e.Reason != ""
		}
		if !back {
			t.Error("the link was not tried when its interface was back")
		}
	}))
	t.Run("one of two, from the start", func(t *testing.T) {
		t.Parallel()
		for bad := range 2 {
			t.Run(fmt.Sprint(bad), timeless(func(t *bubble) {
				o := newObject(3 * mib)
				r := newRig(t)
				r.nets[bad].hole.Store(true)
				r.get(at(t, serve(t, o), "", "/f")).right(o.body)
			}))
		}
	})
	t.Run("the only one", timeless(func(t *bubble) {
		o := newObject(3 * mib)
		r := newRig(t, &testLink{name: "a", rate: 4 * mib})
		r.cfg.StallTimeout = 1200 * time.Millisecond
		r.cfg.Tries = 0 // a busy machine may be silent itself
		l := r.nets[0]
		l.healed = true
		time.AfterFunc(200*time.Millisecond, func() { l.hole.Store(true) })
		got := r.get(at(t, serve(t, o), "", "/f"))
		got.right(o.body)
		stalled := false
		for _, e := range of[event.RequestEnded](got) {
			if strings.Contains(e.Error, "stalled") {
				stalled = true
				if e.Outcome != event.OutcomeNetwork || !e.Retry {
					t.Errorf("a stalled request ended as %s, retry %v", e.Outcome, e.Retry)
				}
			}
		}
		if !stalled {
			t.Error("no request stalled")
		}
	}))
	t.Run("a banned link when the other is lost", timeless(func(t *bubble) {
		// At first contact a is silent and is banned; then b turns out useless.
		o := newObject(3 * mib)
		a, b := &testLink{name: "a"}, &testLink{name: "b"}
		a.hole.Store(true)
		var n atomic.Int64
		b.to = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			off, _ := asked(r)
			if off > 0 {
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable) // of what size, it does not say
				return
			}
			n.Add(1)
			a.hole.Store(false)
			w.WriteHeader(http.StatusNotFound)
		})).Listener.Addr().String()
		r := newRig(t, a, b)
		r.get(at(t, serve(t, o), "", "/f")).right(o.body)
		if n.Load() == 0 {
			t.Error("a was never banned: the test tests nothing")
		}
	}))
}

// TestHeldResponseIsNoSilence: a response that waits until it is known what the other link's
// server says brings no byte, which is nobody's silence.
func TestHeldResponseIsNoSilence(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(mib)
		o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
			w.Header().Set("Content-Type", "text/html") // at a path that promises something else
			o.whole(w)
			return true
		}
		busy := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
		})).Listener.Addr().String()
		r := newRig(t, &testLink{name: "a", latency: 50 * time.Millisecond}, &testLink{name: "busy", to: busy})
		r.cfg.Tries = 20
		begun := time.Now()
		got := r.get(at(t, serve(t, o), "", "/f.csv"))
		got.right(o.body)
		if took := time.Since(begun); took > time.Duration(pageTime)+2*time.Second {
			t.Errorf("it took %v", took)
		}
		for _, c := range of[event.LinkChanged](got) {
			if c.Link == 0 && c.State == event.LinkBanned {
				t.Error("the link that has answered was banned")
			}
		}
	})(t)
}
