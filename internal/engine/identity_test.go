package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/internal/testbody"
)

// edges are servers of one name and port: link i reaches the i-th at 127.0.0.(i+1).
func edges(t testing.TB, handlers ...http.Handler) (*httptest.Server, []*testLink) {
	t.Helper()
	for range 20 {
		first := serve(t, handlers[0])
		_, port, _ := strings.Cut(first.Listener.Addr().String(), ":")
		nets := []*testLink{{name: "l0", names: "127.0.0.1", rate: 4 * mib}}
		ok := true
		for i, h := range handlers[1:] {
			ip := fmt.Sprintf("127.0.0.%d", i+2)
			ln, err := listen(t, ip+":"+port) // it may be taken
			if err != nil {
				ok = false
				break
			}
			_ = ln.Close()
			serveAt(t, ip+":"+port, h)
			nets = append(nets, &testLink{name: fmt.Sprint("l", i+1), names: ip, rate: 4 * mib, latency: 60 * time.Millisecond})
		}
		if ok {
			return first, nets
		}
	}
	t.Fatal("no port is free on three addresses")
	return nil, nil
}

// tagged serves the same body under another ETag.
func tagged(o *object, etag string) *object {
	return &object{body: o.body, etag: etag, modified: o.modified}
}

func TestServersThatDisagree(t *testing.T) {
	t.Parallel()
	t.Run("links are sent to one address", func(t *testing.T) {
		t.Parallel()
		for links := 2; links <= 3; links++ {
			t.Run(fmt.Sprint(links), timeless(func(t *bubble) {
				o := newObject(8 * mib)
				handlers := []http.Handler{o, tagged(o, `"edge-2"`), tagged(o, `"edge-3"`)}
				s, nets := edges(t, handlers[:links]...)
				r := newRig(t, nets...)
				got := r.get(at(t, s, "site.test", "/f"))
				got.right(o.body)
				for i, n := range got.carried(links) {
					if n == 0 {
						t.Errorf("link %d carried nothing", i)
					}
				}
			}))
		}
	})
	t.Run("weak tags are compared weakly", timeless(func(t *bubble) {
		o := newObject(6 * mib)
		s, nets := edges(t, tagged(o, `W/"x"`), tagged(o, `"x"`))
		r := newRig(t, nets...)
		got := r.get(at(t, s, "site.test", "/f"))
		got.right(o.body)
		if c := got.carried(2); c[1] == 0 {
			t.Errorf("carried %v", c)
		}
	}))
	t.Run("no validators at all", timeless(func(t *bubble) {
		o := newObject(6 * mib)
		o.etag, o.modified = "", time.Time{}
		r := newRig(t)
		r.get(at(t, serve(t, o), "", "/f")).right(o.body)
	}))
	t.Run("a link that still disagrees is left out", func(t *testing.T) {
		t.Parallel()
		for _, size := range []int64{6 * mib, 6*mib + 5} {
			t.Run(fmt.Sprint(size), timeless(func(t *bubble) {
				o := newObject(6 * mib)
				other := newObject(size)
				other.body.Seed, other.etag = 99, `"other"`
				s := serve(t, o)
				nets := []*testLink{{name: "a", rate: 4 * mib}, {name: "b", rate: 4 * mib, to: serveAt(t, "127.0.0.2:0", other).Listener.Addr().String(), latency: 100 * time.Millisecond}}
				r := newRig(t, nets...)
				got := r.get(at(t, s, "site.test", "/f"))
				// Which one is first depends on the machine; it must be one alone.
				c := got.carried(2)
				switch {
				case c[0] > 0 && c[1] > 0:
					t.Fatalf("carried %v", c)
				case c[0] > 0:
					got.right(o.body)
				default:
					got.right(other.body)
				}
			}))
		}
	})
	t.Run("a link whose server has it encoded is left out", func(t *testing.T) {
		// Even where size and ETag are the same, as a careless proxy leaves them.
		t.Parallel()
		for _, encodings := range [][2]string{{"", "gzip"}, {"zstd", "gzip"}, {"gzip", ""}} {
			t.Run(fmt.Sprint(encodings), timeless(func(t *bubble) {
				o, other := newObject(6*mib), newObject(6*mib)
				other.body.Seed = 99
				o.encoding, other.encoding = encodings[0], encodings[1]
				nets := []*testLink{{name: "a", rate: 4 * mib}, {name: "b", rate: 4 * mib, to: serveAt(t, "127.0.0.2:0", other).Listener.Addr().String(), latency: 100 * time.Millisecond}}
				r := newRig(t, nets...)
				got := r.get(at(t, serve(t, o), "site.test", "/f"))
				c, want, out := got.carried(2), 0, 1
				if encodings[1] == "" { // which nobody on the way has made of it
					o, want, out = other, 1, 0
				}
				if c[want] == 0 || c[out] > 0 {
					t.Fatalf("carried %v", c)
				}
				got.right(o.body)
				if said := got.noticed("encoded as " + o.encoding + ": saved as it is"); said != (o.encoding != "") {
					t.Errorf("said that it is encoded: %v", said)
				}
			}))
		}
	})
	t.Run("a smaller object behind one link does not set the size", timeless(func(t *bubble) {
		// Its 416 to the second link's first request comes before anything else.
		for _, small := range []int64{100_000, 128 << 10} {
			o, other := newObject(6*mib), newObject(small)
			other.etag = `"other"`
			nets := []*testLink{{name: "a", latency: 200 * time.Millisecond}, {name: "b", to: serve(t, other).Listener.Addr().String()}}
			r := newRig(t, nets...)
			r.get(at(t, serve(t, o), "site.test", "/f")).right(o.body)
		}
	}))
	t.Run("credentials stay at home, now and in the next download", timeless(func(t *bubble) {
		var mu sync.Mutex
		leaks := map[string]string{}
		spy := func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for _, k := range []string{"Authorization", "Cookie"} {
					if v := r.Header.Get(k); v != "" {
						mu.Lock()
						leaks[k] = v + " to " + r.Host
						mu.Unlock()
					}
				}
				if strings.HasPrefix(r.Host, "home") {
					mu.Lock()
					leaks["Host"] = r.Host
					mu.Unlock()
				}
				h.ServeHTTP(w, r)
			})
		}
		o := newObject(8 * mib)
		cdn, nets := edges(t, spy(o), spy(tagged(o, `"edge-2"`)))
		home := newObject(4 * mib)
		home.gate = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			switch user, pass, _ := r.BasicAuth(); {
			case user != "me" || pass != "secret" || r.Header.Get("Cookie") != "a=b":
				w.WriteHeader(http.StatusUnauthorized)
			case r.URL.Path == "/f":
				http.Redirect(w, r, at(t, cdn, "cdn.test", "/g").String(), http.StatusFound)
			default:
				return false
			}
			return true
		}
		_, port, _ := strings.Cut(cdn.Listener.Addr().String(), ":")
		_ = port
		hs := serve(t, home)
		for _, n := range nets {
			n.home = hs.Listener.Addr().String()
		}
		r := newRig(t, nets...)
		r.cfg.HTTP.User = url.UserPassword("me", "secret")
		r.cfg.HTTP.Header = http.Header{"Cookie": {"a=b"}, "X-Mine": {"1"}}
		e := r.engine()
		defer e.Close()
		for _, path := range []string{"/f", "/direct"} {
			job := r.job(at(t, hs, "home.test", path))
			job.Target.Name = "out" + path[1:]
			got := &outcome{t: t}
			got.res, got.err = e.Download(context.Background(), job)
			got.events = r.drain()
			got.check()
			got.right(map[string]testbody.Body{"/f": o.body, "/direct": home.body}[path])
			for i, n := range got.carried(2) {
				if n == 0 {
					t.Errorf("%s: link %d carried nothing", path, i)
				}
			}
		}
		if len(leaks) > 0 {
			t.Errorf("leaked: %v", leaks)
		}
	}))
}

func TestTheObjectChanges(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"etag", "size", "smaller", "time", "encoding"} {
		t.Run(kind, timeless(func(t *bubble) {
			o := newObject(8 * mib)
			next := testbody.Body{Size: 8 * mib, Seed: 5}
			etag, modified := `"v2"`, o.modified
			switch kind {
			case "size":
				next.Size = 9 * mib
			case "smaller":
				next.Size = mib
			case "encoding":
				etag = o.etag
			case "time":
				o.etag, etag, modified = "", "", time.Unix(1_100_000_000, 0)
			}
			r := newRig(t, &testLink{name: "a", rate: 4 * mib}, &testLink{name: "b", rate: 4 * mib})
			r.cfg.Tries = 2
			s := serve(t, o)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				if r.await(ctx, 2*mib) {
					if kind == "encoding" {
						o.encode("br") // first: nobody must see the new bytes without it
					}
					o.become(next, etag, modified)
					for _, n := range r.nets {
						n.breakAll()
					}
				}
			}()
			got := r.get(at(t, s, "", "/f"))
			if !errors.Is(got.err, ErrChanged) {
				t.Fatalf("error %v, want ErrChanged", got.err)
			}
			if _, err := os.Stat(filepath.Join(r.dir, "out.part.json")); err != nil {
				t.Errorf("the journal: %v", err)
			}
			again := r.get(at(t, s, "", "/f"))
			again.right(next)
			if !again.noticed("changed since the last run") {
				t.Error("nobody said that it starts over")
			}
		}))
	}
}

// leftover makes what an interrupted run leaves: the bytes of ranges, with a journal.
func leftover(t testing.TB, r *rig, u *url.URL, o *object, id identity.Identity, ends ...int64) {
	t.Helper()
	f, err := store.Open(r.job(u).Target, u)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Begin(id); err != nil {
		t.Fatal(err)
	}
	done := doneOf(ends...)
	for _, d := range done {
		if _, err := f.WriteAt(bytesOf(o.body, d.Off, d.End), d.Off); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Suspend(done); err != nil {
		t.Fatal(err)
	}
}

func TestResume(t *testing.T) {
	t.Parallel()
	told := func(o *object) identity.Identity {
		id := identity.Identity{Size: o.body.Size, ETag: o.etag}
		if !o.modified.IsZero() {
			id.LastModified = o.modified.UTC().Format(http.TimeFormat)
		}
		return id
	}
	for _, tc := range []struct {
		name    string
		ends    []int64 // of what is there: pairs of offsets
		before  func(o *object, id *identity.Identity)
		notice  string
		resumed int64
		// How many requests bring 16 KiB that are there as well, to be compared, at most.
		compared int64
	}{
		{name: "only what is missing", ends: []int64{0, mib, 3 * mib, 4*mib + 7}, resumed: 2*mib + 7},
		{name: "not the first byte", ends: []int64{mib, 6 * mib}, resumed: 5 * mib},
		{name: "all of it", ends: []int64{0, 6 * mib}, resumed: 6*mib - 1},
		{name: "all of it, which nothing proves", ends: []int64{0, 6 * mib}, before: func(o *object, id *identity.Identity) {
			o.etag, o.modified = "", time.Time{}
			id.ETag, id.LastModified = "", ""
		}, resumed: 6*mib - 1, compared: 1},
		{name: "all of what has changed", ends: []int64{0, 6 * mib}, before: func(_ *object, id *identity.Identity) { id.ETag = `"v0"` }, notice: "changed since"},
		{name: "all of what was larger", ends: []int64{0, 9 * mib}, before: func(_ *object, id *identity.Identity) { id.Size = 9 * mib }, notice: "changed since"},
		{name: "all but one byte", ends: []int64{0, 6*mib - 1}, resumed: 6*mib - 1},
		{name: "changed", ends: []int64{0, mib}, before: func(_ *object, id *identity.Identity) { id.ETag = `"v0"` }, notice: "changed since"},
		{name: "encoded by now", ends: []int64{0, mib}, before: func(o *object, _ *identity.Identity) { o.encoding = "gzip" }, notice: "changed since"},
		{name: "encoded, as it was", ends: []int64{0, mib}, before: func(o *object, id *identity.Identity) { o.encoding, id.Encoding = "gzip", "gzip" }, resumed: mib},
		{name: "was larger", ends: []int64{0, 8 * mib}, before: func(_ *object, id *identity.Identity) { id.Size = 9 * mib }, notice: "changed since"},
		{name: "was larger, and 416 tells no size", ends: []int64{0, 8 * mib}, before: func(o *object, id *identity.Identity) {
			id.Size = 9 * mib
			o.gate = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
				off, _ := asked(r)
				if off >= o.body.Size {
					w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				}
				return off >= o.body.Size
			}
		}, notice: "changed since"},
		{name: "was smaller", ends: []int64{0, mib}, before: func(_ *object, id *identity.Identity) { id.Size = 5 * mib }, notice: "changed since"},
		{name: "nothing proves it", ends: []int64{0, mib}, before: func(o *object, id *identity.Identity) {
			o.etag, o.modified = "", time.Time{}
			id.ETag, id.LastModified = "", ""
		}, resumed: mib, compared: 5 << 20 / (1 << 20 / 8)},
		{name: "nothing proves it, and it is another", ends: []int64{0, mib}, before: func(o *object, id *identity.Identity) {
			o.etag, o.modified = "", time.Time{}
			o.body.Seed = 99
			id.ETag, id.LastModified = "", ""
		}, notice: "changed since"},
		{name: "only the date proves it", ends: []int64{0, mib}, before: func(o *object, id *identity.Identity) {
			o.modified = time.Unix(900_000_000, 0) // before the bubble's time begins
			*id = told(o)
			o.etag, id.ETag = "", ""
		}, resumed: mib, compared: 2},
		{name: "the date is the same, the bytes are not", ends: []int64{0, mib}, before: func(o *object, id *identity.Identity) {
			o.etag, id.ETag = "", ""
			o.body.Seed = 99
		}, notice: "changed since"},
		{name: "no ranges any more", ends: []int64{0, mib}, before: func(o *object, _ *identity.Identity) {
			o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool { o.whole(w); return true }
		}, notice: "starting over"},
		{name: "all of it, and no ranges any more", ends: []int64{0, 6 * mib}, before: func(o *object, _ *identity.Identity) {
			o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool { o.whole(w); return true }
		}, notice: "starting over"},
	} {
		t.Run(tc.name, timeless(func(t *bubble) {
			o := newObject(6 * mib)
			id := told(o)
			if tc.before != nil {
				tc.before(o, &id)
			}
			r := newRig(t)
			r.cfg.NoSteal = true // not a byte twice
			u := at(t, serve(t, o), "", "/f")
			left := newObject(max(id.Size, o.body.Size))
			leftover(t, r, u, left, id, tc.ends...)
			got := r.get(u)
			got.right(o.body)
			if known := ofKnown(t, got); known.Resumed != tc.resumed {
				t.Errorf("resumed %d, want %d", known.Resumed, tc.resumed)
			}
			missing := 6*mib - tc.resumed
			if n := o.sent.Load(); tc.notice == "" && (n < missing || n > missing+tc.compared*(16<<10)) {
				t.Errorf("the server sent %d bytes, %d were missing", n, missing)
			}
			if tc.notice != "" && !got.noticed(tc.notice) {
				t.Errorf("no notice says %q", tc.notice)
			}
		}))
	}
	t.Run("a portal, and the other link is a backup", timeless(func(t *bubble) {
		// What is there is not given away for its page before the backup was asked.
		o, page := newObject(6*mib), newObject(3000)
		page.gate = page.noRanges
		r := newRig(t, &testLink{name: "a", to: serve(t, page).Listener.Addr().String()}, &testLink{name: "b"})
		r.terms[1].Backup = true
		u := at(t, serve(t, o), "", "/f")
		leftover(t, r, u, o, told(o), 0, 3*mib)
		r.get(u).right(o.body)
	}))
	t.Run("the other server is asked first", timeless(func(t *bubble) {
		// The journal is of edge 2, edge 1 answers first: what is there is kept.
		o := newObject(6 * mib)
		s, nets := edges(t, tagged(o, `"edge-1"`), o)
		r := newRig(t, nets...)
		u := at(t, s, "site.test", "/f")
		leftover(t, r, u, o, told(o), 0, 3*mib)
		got := r.get(u)
		got.right(o.body)
		if known := ofKnown(t, got); known.Resumed != 3*mib {
			t.Errorf("resumed %d", known.Resumed)
		}
	}))
}

func TestContinueWhatAnotherToolLeft(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		has  int64
		size int64
		odd  bool // there are no ranges
		mute bool // 416 tells no size
		flaw bool // the last byte there is another one
		err  error
		sent int64
		// How many requests bring 16 KiB that are there as well, to be compared, at most.
		compared int64
	}{
		{name: "a part", has: 2 * mib, size: 5 * mib, sent: 3 * mib, compared: 2},
		{name: "a part of another file", has: 2 * mib, size: 5 * mib, flaw: true, err: ErrLonger},
		{name: "all of it", has: 2 * mib, size: 2 * mib, compared: 3},
		{name: "all of another file", has: 2 * mib, size: 2 * mib, flaw: true, err: ErrLonger},
		{name: "too much", has: 2 * mib, size: mib, err: ErrLonger},
		{name: "much too much", has: 5 * mib, size: mib, err: ErrLonger},
		{name: "nothing", has: 0, size: mib, sent: mib},
		{name: "all of it, and 416 tells no size", has: 2 * mib, size: 2 * mib, mute: true, compared: 3},
		{name: "one byte, and 416 tells no size", has: 1, size: 1, mute: true, compared: 3},
		{name: "as much, and 416 tells no size", has: 2 * mib, size: 2 * mib, mute: true, flaw: true, err: ErrLonger},
		{name: "all of it, without ranges", has: 2 * mib, size: 2 * mib, odd: true},
		{name: "a part, without ranges", has: mib, size: 2 * mib, odd: true, err: store.ErrKeep},
	} {
		t.Run(tc.name, timeless(func(t *bubble) {
			o := newObject(tc.size)
			if tc.odd {
				o.gate = o.noRanges
			}
			if tc.mute {
				o.gate = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
					off, _ := asked(r)
					if off >= tc.size {
						w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
					}
					return off >= tc.size
				}
			}
			r := newRig(t)
			r.cfg.Tries = 2
			name := filepath.Join(r.dir, "out")
			there := bytesOf(testbody.Body{Size: tc.has, Seed: 11}, 0, tc.has)
			if tc.flaw {
				there[tc.has-1]++
			}
			if err := os.WriteFile(name, there, 0o600); err != nil {
				t.Fatal(err)
			}
			r.cfg.NoSteal = true // not a byte twice
			job := r.job(at(t, serve(t, o), "", "/f"))
			job.Target.Continue = true
			got := r.do(context.Background(), job)
			if tc.err != nil {
				if !errors.Is(got.err, tc.err) {
					t.Fatalf("error %v, want %v", got.err, tc.err)
				}
				if fi, err := os.Stat(name); err != nil || fi.Size() != tc.has {
					t.Errorf("the file: %v", err)
				}
				return
			}
			got.right(o.body)
			n, most := got.carried(2), tc.sent+tc.compared*min(16<<10, tc.has)
			if n[0]+n[1] != tc.sent || !tc.odd && (o.sent.Load() < tc.sent || o.sent.Load() > most) {
				t.Errorf("the server sent %d bytes, %d useful ones; %d were missing", o.sent.Load(), n[0]+n[1], tc.sent)
			}
		}))
	}
	t.Run("all of it, and nothing but 416", timeless(func(t *bubble) {
		o := newObject(2 * mib)
		o.gate = func(w http.ResponseWriter, _ *http.Request, n int64) bool {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			if n > 20 {
				t.Error("no end of it")
			}
			return true
		}
		r := newRig(t)
		r.cfg.Tries = 2
		if err := os.WriteFile(filepath.Join(r.dir, "out"), bytesOf(o.body, 0, 2*mib), 0o600); err != nil {
			t.Fatal(err)
		}
		job := r.job(at(t, serve(t, o), "", "/f"))
		job.Target.Continue = true
		ctx, cancel := context.WithTimeoutCause(context.Background(), 20*time.Second, errors.New("the test took too long"))
		defer cancel()
		if got := r.do(ctx, job); classOf(got.err) == 0 {
			t.Errorf("error %v", got.err)
		}
	}))
}

// TestTheFirstLinkIsContradicted: another link has confirmed what it said, so what it says
// later is its own network's word.
func TestTheFirstLinkIsContradicted(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]http.HandlerFunc{
		"416 of an empty object": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes */0")
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		},
		"another ETag": tagged(newObject(8*mib), `"other"`).ServeHTTP,
	} {
		t.Run(name, timeless(func(t *bubble) {
			o := newObject(8 * mib)
			liar := tagged(o, o.etag)
			liar.gate = func(w http.ResponseWriter, r *http.Request, n int64) bool {
				if n > 2 {
					lie(w, r)
				}
				return n > 2
			}
			s, nets := edges(t, liar, o)
			nets[1].latency, nets[1].rate = 20*time.Millisecond, mib
			got := newRig(t, nets...).get(at(t, s, "site.test", "/f"))
			got.right(o.body)
			if c := got.carried(2); c[0] == 0 || c[0] > 6*mib {
				t.Errorf("carried %v", c)
			}
		}))
	}
}
