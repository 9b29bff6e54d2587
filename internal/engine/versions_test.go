package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/testbody"
)

// answer is a server's next answer: of which version, and what it shows of it.
type answer struct {
	version  byte
	etag     string
	modified string
}

// versions is an object that is served in several versions, as one answer or another has it.
type versions struct {
	size int64
	next func(n int64) answer // the n-th answer's, from 1 on
	n    atomic.Int64
}

func (v *versions) body(version byte) testbody.Body {
	return testbody.Body{Size: v.size, Seed: uint64(version)}
}

func (v *versions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a := v.next(v.n.Add(1))
	if a.etag != "" {
		w.Header().Set("Etag", a.etag)
	}
	if a.modified != "" {
		w.Header().Set("Last-Modified", a.modified)
	}
	off, end := asked(r)
	if off >= v.size {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", v.size))
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		return
	}
	end = min(end, v.size)
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", off, end-1, v.size))
	w.Header().Set("Content-Length", fmt.Sprint(end-off))
	w.WriteHeader(http.StatusPartialContent)
	_, _ = w.Write(bytesOf(v.body(a.version), off, end))
}

// one demands that there is one version under the name, or none and an error.
func (v *versions) one(t testing.TB, name string, err error) {
	t.Helper()
	got, rerr := os.ReadFile(name)
	if err != nil {
		if !errors.Is(rerr, os.ErrNotExist) {
			t.Errorf("there is a file though %v", err)
		}
		return
	}
	for version := byte('A'); version <= 'C'; version++ {
		if string(got) == string(bytesOf(v.body(version), 0, v.size)) {
			return
		}
	}
	t.Errorf("no error, and the file, of %d bytes, is no version of the object", len(got))
}

const date1, date2 = "Sat, 01 Jan 1994 00:00:00 GMT", "Sun, 02 Jan 1994 00:00:00 GMT"

// byTurns are servers that show little at first, and two versions by turns then.
func byTurns() map[string]func(n int64) answer {
	turn := func(n int64) byte { return 'A' + byte(n%2) }
	return map[string]func(n int64) answer{
		"nothing, then two ETags by turns": func(n int64) answer {
			if n == 1 {
				return answer{version: 'A'}
			}
			return answer{version: turn(n), etag: `"` + string(turn(n)) + `"`}
		},
		"an ETag, then two dates by turns": func(n int64) answer {
			if n == 1 {
				return answer{version: 'A', etag: `"A"`}
			}
			return answer{version: turn(n), modified: []string{date1, date2}[n%2]}
		},
		"a date, then two ETags of one second": func(n int64) answer {
			if n == 1 {
				return answer{version: 'A', modified: date1}
			}
			return answer{version: turn(n), etag: `"` + string(turn(n)) + `"`, modified: date1}
		},
		"nothing at all":      func(n int64) answer { return answer{version: turn(n)} },
		"a weak ETag of both": func(n int64) answer { return answer{version: turn(n), etag: `W/"x"`} },
		"a new version with an ETag that the old one had not": func(n int64) answer {
			if n <= 2 {
				return answer{version: 'A'}
			}
			return answer{version: 'B', etag: `"B"`}
		},
	}
}

// TestBytesOfTwoVersionsAreNeverJoined, whatever the first answer showed.
func TestBytesOfTwoVersionsAreNeverJoined(t *testing.T) {
	t.Parallel()
	for name, next := range byTurns() {
		for links := 1; links <= 2; links++ {
			t.Run(fmt.Sprint(name, ", links: ", links), timeless(func(t *bubble) {
				v := &versions{size: 5 * mib, next: next}
				r := newRig(t, []*testLink{{name: "a", rate: 2 * mib}, {name: "b", rate: mib}}[:links]...)
				r.cfg.Tries = 3
				job := r.job(at(t, serve(t, v), "", "/f"))
				got := r.do(context.Background(), job)
				v.one(t, filepath.Join(r.dir, "out"), got.err)
			}))
			t.Run(fmt.Sprint(name, ", in order, links: ", links), timeless(func(t *bubble) {
				v := &versions{size: 5 * mib, next: next}
				r := newRig(t, []*testLink{{name: "a", rate: 2 * mib}, {name: "b", rate: mib}}[:links]...)
				r.cfg.Tries = 3
				job := r.job(at(t, serve(t, v), "", "/f"))
				c := newConsumer()
				job.Stdout = c
				got := r.do(context.Background(), job)
				if sum := c.hash(); got.err == nil && sum != v.body('A').SHA256() && sum != v.body('B').SHA256() {
					t.Error("no error, and what came is no version of the object")
				}
			}))
		}
		t.Run(name+", a list", timeless(func(t *bubble) {
			v := &versions{size: 5 * mib, next: next}
			r := newRig(t, &testLink{name: "a", rate: 2 * mib}, &testLink{name: "b", rate: mib})
			r.cfg.Tries = 3
			h := r.haul(context.Background(), Batch{}, ware{base: serve(t, v), path: "/f", size: v.size})
			v.one(t, filepath.Join(r.dir, "f0"), h.errs[0])
		}))
		t.Run(name+", resumed", timeless(func(t *bubble) {
			v := &versions{size: 5 * mib, next: next}
			r := newRig(t, &testLink{name: "a", rate: 2 * mib})
			r.cfg.Tries = 3
			u := at(t, serve(t, v), "", "/f")
			leftover(t, r, u, &object{body: v.body('C')}, identity.Identity{Size: v.size, LastModified: date1}, 0, mib)
			got := r.do(context.Background(), r.job(u))
			v.one(t, filepath.Join(r.dir, "out"), got.err)
		}))
	}
}

// TestEdgesOfWhichOneShowsNothing: bytes of an edge without validators are used if they are
// those of the other, and only then.
func TestEdgesOfWhichOneShowsNothing(t *testing.T) {
	t.Parallel()
	for _, other := range []byte{'A', 'B'} {
		for quick := range 2 {
			t.Run(fmt.Sprintf("version %c, link %d is quick", other, quick), timeless(func(t *bubble) {
				shows := &versions{size: 6 * mib, next: func(int64) answer { return answer{version: 'A', etag: `"A"`, modified: date1} }}
				mute := &versions{size: 6 * mib, next: func(int64) answer { return answer{version: other} }}
				s, nets := edges(t, shows, mute)
				nets[1-quick].latency = 200 * time.Millisecond
				r := newRig(t, nets...)
				got := r.get(at(t, s, "site.test", "/f"))
				if got.err != nil {
					t.Fatal(got.err)
				}
				shows.one(t, filepath.Join(r.dir, "out"), got.err)
				if c := got.carried(2); other == 'A' && (c[0] == 0 || c[1] == 0) {
					t.Errorf("carried %v", c)
				}
			}))
		}
	}
}

// TestWithoutValidatorsLittleIsCompared: of 50 MB at most 1 % is fetched for the sake of
// comparing, and nothing where a strong validator agrees.
func TestWithoutValidatorsLittleIsCompared(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		etag string
		most int64
	}{{`"A"`, 0}, {"", 500_000}} {
		t.Run(tt.etag, timeless(func(t *bubble) {
			v := &versions{size: 50_000_000, next: func(int64) answer { return answer{version: 'A', etag: tt.etag} }}
			r := newRig(t, &testLink{name: "a", rate: 10 * mib, latency: 16 * time.Millisecond}, &testLink{name: "b", rate: 8 * mib, latency: 50 * time.Millisecond})
			r.cfg.NoSteal = true // whose waste is another matter
			got := r.get(at(t, serve(t, v), "", "/f"))
			v.one(t, filepath.Join(r.dir, "out"), got.err)
			wasted := int64(0)
			for _, e := range of[event.RequestEnded](got) {
				wasted += e.Wasted
			}
			if wasted > tt.most {
				t.Errorf("%d bytes were fetched twice, at most %d should be", wasted, tt.most)
			}
			if c := got.carried(2); c[0] == 0 || c[1] == 0 {
				t.Errorf("carried %v", c)
			}
		}))
	}
}

// lies are answers that end the object early.
func lies() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"416 of nothing": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", "bytes */0")
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		},
		"200 of nothing": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "0") },
		"204":            func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"206 of 100 bytes": func(w http.ResponseWriter, r *http.Request) {
			off, _ := asked(r)
			if off >= 100 {
				w.Header().Set("Content-Range", "bytes */100")
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				return
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-99/100", off))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(make([]byte, 100-off))
		},
		"206 of 200,000 bytes": func(w http.ResponseWriter, r *http.Request) {
			off, end := asked(r)
			end = min(end, 200_000)
			if off >= end {
				w.Header().Set("Content-Range", "bytes */200000")
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				return
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/200000", off, end-1))
			w.Header().Set("Content-Length", fmt.Sprint(end-off))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(make([]byte, end-off))
		},
		"200 of 5000 bytes": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 5000)) },
	}
}

// TestOneLinksWordIsNotTakenAtOnce: the other link brings the real object 150 ms later.
func TestOneLinksWordIsNotTakenAtOnce(t *testing.T) {
	t.Parallel()
	for name, lie := range lies() {
		for quick := range 2 {
			nets := func(t testing.TB) []*testLink {
				nets := []*testLink{{name: "a"}, {name: "b"}}
				nets[quick].to = serve(t, lie).Listener.Addr().String()
				nets[1-quick].latency = 150 * time.Millisecond
				return nets
			}
			t.Run(fmt.Sprint(name, " over link ", quick), timeless(func(t *bubble) {
				o := newObject(3 * mib)
				r := newRig(t, nets(t)...)
				r.get(at(t, serve(t, o), "", "/f")).right(o.body)
			}))
			t.Run(fmt.Sprint(name, " over link ", quick, ", in order"), timeless(func(t *bubble) {
				o := newObject(3 * mib)
				r := newRig(t, nets(t)...)
				job, c := r.job(at(t, serve(t, o), "", "/f")), newConsumer()
				job.Stdout = c
				if got := r.do(context.Background(), job); got.err != nil || c.hash() != o.body.SHA256() {
					t.Errorf("error %v, or a wrong hash", got.err)
				}
			}))
			t.Run(fmt.Sprint(name, " over link ", quick, ", a list"), timeless(func(t *bubble) {
				r := newRig(t, nets(t)...)
				s := serve(t, &shop{})
				h := r.haul(context.Background(), Batch{}, ware{base: s, size: 3 * mib}, ware{base: s, size: 270_000}, ware{base: s, size: 300_000})
				h.right()
			}))
		}
	}
}

// TestWordsThatAgreeCostOneRoundTrip: what two links say is believed at once, and for the
// rest of a list what either says.
func TestWordsThatAgreeCostOneRoundTrip(t *testing.T) {
	t.Parallel()
	trip := 100 * time.Millisecond
	t.Run("a small file", timeless(func(t *bubble) {
		o := newObject(100_000)
		r := newRig(t, &testLink{name: "a", latency: trip / 5}, &testLink{name: "b", latency: trip})
		start := time.Now()
		r.get(at(t, serve(t, o), "", "/f")).right(o.body)
		if took := time.Since(start); took > 2*trip {
			t.Errorf("it took %v", took)
		}
	}))
	t.Run("a list", timeless(func(t *bubble) {
		r := newRig(t, &testLink{name: "a", latency: trip / 5}, &testLink{name: "b", latency: trip})
		h := r.haul(context.Background(), Batch{}, mixed(serve(t, &shop{}), 60, false)...)
		h.right()
		asked := 0
		for _, e := range of[event.RequestStarted](&h.outcome) {
			if e.Chunk >= firstProbe {
				asked++
			}
		}
		if asked > 2 {
			t.Errorf("%d files were asked for to hear another link's word", asked)
		}
	}))
}

// TestSilenceOfOthersIsNoVeto: a link that does not answer is waited for 3 s, once.
func TestSilenceOfOthersIsNoVeto(t *testing.T) {
	t.Parallel()
	t.Run("a file", timeless(func(t *bubble) {
		o := newObject(100_000)
		r := newRig(t)
		r.nets[1].hole.Store(true)
		start := time.Now()
		r.get(at(t, serve(t, o), "", "/f")).right(o.body)
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("it took %v", took)
		}
	}))
	t.Run("a list", timeless(func(t *bubble) {
		r := newRig(t)
		r.nets[1].hole.Store(true)
		start := time.Now()
		r.haul(context.Background(), Batch{}, mixed(serve(t, &shop{}), 30, false)...).right()
		if took := time.Since(start); took > 12*time.Second {
			t.Errorf("it took %v", took)
		}
	}))
}

// TestShortBodiesAreNotWhole: what contradictory attempts of one stream bring is no file.
func TestShortBodiesAreNotWhole(t *testing.T) {
	t.Parallel()
	o := newObject(mib)
	cut := func(head string, n int64) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) { hijack(w, []byte(head), bytesOf(o.body, 0, n)) }
	}
	chunked := func(n int64, ends bool) func(w http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			end := ""
			if ends {
				end = "0\r\n\r\n"
			}
			hijack(w, fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n", n), bytesOf(o.body, 0, n), []byte("\r\n"+end))
		}
	}
	const length = "HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n"
	for name, attempts := range map[string][]func(w http.ResponseWriter){
		"a length and cut, more in chunks and cut, less in chunks": {cut(length, 900_000), chunked(1_000_000, false), chunked(400_000, true)},
		"in chunks and cut, less in chunks":                        {chunked(1_000_000, false), chunked(400_000, true)},
		"a length and cut, less in chunks":                         {cut(length, 300_000), chunked(400_000, true)},
	} {
		t.Run(name, timeless(func(t *bubble) {
			n := 0
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				a := attempts[min(n, len(attempts)-1)]
				n++
				a(w)
			}))
			r := newRig(t, &testLink{name: "a"})
			r.cfg.Tries = 4
			got := r.get(at(t, s, "", "/f"))
			b, err := os.ReadFile(filepath.Join(r.dir, "out"))
			switch whole := string(bytesOf(o.body, 0, 400_000)); {
			case got.err == nil && string(b) != whole: // what the last answers say it is, alone
				t.Errorf("no error, and a file of %d bytes", len(b))
			case got.err != nil && !errors.Is(err, os.ErrNotExist):
				t.Errorf("%v, and a file", got.err)
			}
		}))
	}
}

// TestServersThatForgetTheirRanges: 206 twice, and from then on 200 with the whole object.
func TestServersThatForgetTheirRanges(t *testing.T) {
	t.Parallel()
	for _, inOrder := range []bool{false, true} {
		for links := 1; links <= 2; links++ {
			t.Run(fmt.Sprint(links, " links, in order: ", inOrder), timeless(func(t *bubble) {
				o := newObject(5 * mib)
				o.gate = func(w http.ResponseWriter, _ *http.Request, n int64) bool {
					if n > 2 {
						o.whole(w)
					}
					return n > 2
				}
				r := newRig(t, []*testLink{{name: "a"}, {name: "b"}}[:links]...)
				job, c := r.job(at(t, serve(t, o), "", "/f")), newConsumer()
				if inOrder {
					job.Stdout = c
				}
				got := r.do(context.Background(), job)
				switch {
				case !inOrder:
					got.right(o.body)
				case got.err != nil || c.hash() != o.body.SHA256():
					t.Errorf("error %v, or a wrong hash", got.err)
				}
			}))
		}
	}
}
