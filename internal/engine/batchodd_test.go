package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/store"
)

// TestBatchOddServers: whatever single files meet, the others are done.
func TestBatchOddServers(t *testing.T) {
	tests := []struct {
		name string
		gate func(w http.ResponseWriter, r *http.Request, o *object) bool
	}{
		{"whole objects", func(w http.ResponseWriter, _ *http.Request, o *object) bool {
			o.whole(w)
			return true
		}},
		{"no length", func(w http.ResponseWriter, _ *http.Request, o *object) bool {
			w.(http.Flusher).Flush()
			_, _ = io.Copy(w, o.body.Reader())
			return true
		}},
		{"some without a length", func(w http.ResponseWriter, _ *http.Request, o *object) bool {
			if o.body.Seed%5 != 0 {
				return false
			}
			w.(http.Flusher).Flush()
			_, _ = io.Copy(w, o.body.Reader())
			return true
		}},
		{"no validators", func(w http.ResponseWriter, r *http.Request, o *object) bool {
			http.ServeContent(w, r, "", time.Time{}, o.body.Reader())
			return true
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			s := serve(t, &shop{gate: tt.gate})
			wares := mixed(s, 40, false)
			wares = append(wares, ware{base: s, size: 0}, ware{base: s, size: 2*mib + 5}, ware{base: s, size: 0, known: true})
			r.haul(t.Context(), Batch{}, wares...).right()
		})
	}
}

// TestBatchSamplesOfItsOwn: a file that is downloaded by itself says so before it
// receives anything, or nobody could tell whose bytes it received.
func TestBatchSamplesOfItsOwn(t *testing.T) {
	t.Parallel()
	s := serve(t, &shop{gate: func(w http.ResponseWriter, _ *http.Request, o *object) bool {
		o.whole(w)
		return true
	}})
	r := newRig(t)
	r.cfg.Record = false // or the samples may be dropped
	h := r.haul(t.Context(), Batch{}, ware{base: s, size: 2 * mib}, ware{base: s, size: 3 * mib}, ware{base: s, size: 4 * mib})
	own := map[event.FileID]bool{}
	for _, sample := range of[event.Sample](&h.outcome) {
		for _, l := range sample.Links {
			if sample.File != event.Batch && !own[sample.File] && l.Bytes > 0 {
				t.Errorf("the first sample of file %d: %d bytes", sample.File, l.Bytes)
			}
		}
		own[sample.File] = true
	}
	if len(own) < 3 {
		t.Errorf("samples of %v", own)
	}
}

// TestBatchSizeOfWaiting: the batch's size has the files in it that wait to be
// downloaded by themselves.
func TestBatchSizeOfWaiting(t *testing.T) {
	timeless(func(t *bubble) {
		s := serve(t, &shop{gate: func(w http.ResponseWriter, _ *http.Request, o *object) bool {
			o.whole(w)
			return true
		}})
		const files, size = 3 * solosMost, 2 * mib
		r := newRig(t, &testLink{name: "a", rate: 2 * mib})
		h := r.haul(t.Context(), Batch{}, slices.Repeat([]ware{{base: s, size: size}}, files)...)
		h.right()
		looked, begun := 0, false
		for _, e := range h.events {
			if _, ended := e.(event.FileEnded); ended {
				break
			}
			if s, ok := e.(event.Sample); ok && s.File != event.Batch {
				begun = begun || s.Done > 0
			} else if ok && begun {
				if looked++; s.Size != (files-solosMost)*size {
					t.Errorf("%d bytes", s.Size)
				}
			}
		}
		if looked < 3 {
			t.Errorf("%d samples", looked)
		}
	})(t)
}

// TestBatchPortal: a page that one link's network gives for everything is nobody's
// file.
func TestBatchPortal(t *testing.T) {
	timeless(func(t *bubble) { // the other link is waited for, but not for ever
		s := serve(t, &shop{})
		portal := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<html>please log in</html>")
		}))
		r := newRig(t, &testLink{name: "a", to: portal.Listener.Addr().String()}, &testLink{name: "b"})
		r.haul(t.Context(), Batch{}, mixed(s, 80, false)...).right()
	})(t)
}

// TestBatchEncodedOnTheWay: what a proxy of one link makes of files is not what is saved, nor mixed
// with what the others' servers have.
func TestBatchEncodedOnTheWay(t *testing.T) {
	timeless(func(t *bubble) { // the other links are waited for, but not for ever
		s := serve(t, &shop{})
		proxy := serveAt(t, "127.0.0.2:0", &shop{gate: func(w http.ResponseWriter, req *http.Request, o *object) bool {
			other := newObject(o.body.Size + 20)
			other.body.Seed, other.etag, other.encoding = o.body.Seed+1000, o.etag, "gzip"
			other.ServeHTTP(w, req)
			return true
		}})
		r := newRig(t, &testLink{name: "a", to: proxy.Listener.Addr().String()}, &testLink{name: "b", latency: 20 * time.Millisecond})
		r.haul(t.Context(), Batch{}, mixed(s, 20, false)...).right()
	})(t)
}

// TestBatchObjectChanges: bytes of two objects are never mixed.
func TestBatchObjectChanges(t *testing.T) {
	t.Parallel()
	r := newRig(t, &testLink{name: "a", rate: 8 * mib}, &testLink{name: "b", rate: 8 * mib})
	old, fresh := newObject(12*mib), newObject(12*mib)
	fresh.body.Seed, fresh.etag = 77, `"v2"`
	s := serve(t, &shop{gate: func(w http.ResponseWriter, req *http.Request, o *object) bool {
		if o.body.Seed != 1 {
			return false
		}
		if r.received() > 5*mib {
			fresh.ServeHTTP(w, req)
		} else {
			old.ServeHTTP(w, req)
		}
		return true
	}})
	wares := append([]ware{{base: s, size: 12 * mib}}, mixed(s, 40, false)...)
	h := r.haul(t.Context(), Batch{}, wares...)
	for i := 1; i < len(wares); i++ {
		h.has(i)
	}
	if err := h.errs[0]; err == nil {
		if hash := hashOf(t, h.out[0]); hash != fresh.body.SHA256() && hash != old.body.SHA256() {
			t.Error("a mixture")
		}
	} else if !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
}

func TestBatchRerun(t *testing.T) {
	r := newRig(t)
	sh := &shop{}
	s := serve(t, sh)
	wares := append(mixed(s, 100, false), ware{base: s, size: 3 * mib}, ware{base: s, size: 0})
	r.rerun = true
	r.haul(t.Context(), Batch{}, wares...).right()
	before := r.received()
	if err := os.Remove(filepath.Join(r.dir, "f7")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, "f9"), []byte("somebody's own"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := r.haul(t.Context(), Batch{}, wares...)
	h.right()
	if again := r.received() - before; again > mib {
		t.Errorf("%d bytes fetched again", again)
	}
	if got := h.out[9]; filepath.Base(got) != "f9.1" {
		t.Errorf("f9 is somebody else's, and file 9 went to %s", got)
	}
	there, err := os.ReadDir(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(there) != len(wares)+1 {
		t.Errorf("%d files for %d", len(there), len(wares))
	}
}

// TestBatchRerunBesideAPart: what is complete is not fetched again for a part that
// somebody has left beside it.
func TestBatchRerunBesideAPart(t *testing.T) {
	timeless(func(t *bubble) {
		r := newRig(t)
		r.rerun = true
		w := ware{base: serve(t, &shop{}), size: mib}
		r.haul(t.Context(), Batch{}, w).right()
		before := r.received()
		part := filepath.Join(r.dir, "f0.part")
		if err := os.WriteFile(part, []byte("half of it"), 0o600); err != nil {
			t.Fatal(err)
		}
		h := r.haul(t.Context(), Batch{}, w)
		h.has(0)
		if again := r.received() - before; again > 1000 {
			t.Errorf("%d bytes fetched again", again)
		}
		if _, err := os.Stat(part); err != nil {
			t.Error(err) // it is not ours
		}
	})(t)
}

// TestBatchRerunAtARate: of a file that has changed a byte is asked for, which has to wait
// for the rate as others have used it up. Nothing that happens meanwhile takes it for all
// of the file.
func TestBatchRerunAtARate(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"checkpoint", "moved", "interrupted", "without ranges"} {
		t.Run(how, timeless(func(t *bubble) {
			r := newRig(t, &testLink{name: "a"})
			r.rerun = true
			r.cfg.LimitRate = NewLimiter(2*mib, DefaultBlockSize)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var once sync.Once
			s := serve(t, &shop{gate: func(w http.ResponseWriter, req *http.Request, o *object) bool {
				if req.Header.Get("Range") == "bytes=0-0" {
					once.Do(func() {
						for range 24 {
							r.cfg.LimitRate.ReserveN(time.Now(), r.cfg.LimitRate.Burst())
						}
						time.AfterFunc(300*time.Millisecond, func() {
							switch how {
							case "moved":
								r.links[0].Renew(r.nets[0], true)
							case "interrupted":
								cancel(ErrInterrupted)
							}
						})
					})
				}
				if how == "without ranges" {
					o.whole(w)
				}
				return how == "without ranges"
			}})
			w := ware{base: s, size: mib}
			if how == "checkpoint" || how == "interrupted" {
				w.size = journalFrom + mib
			}
			if err := os.WriteFile(filepath.Join(r.dir, "f0"), []byte("what it was before"), 0o600); err != nil {
				t.Fatal(err)
			}
			h := r.haul(ctx, Batch{}, w)
			if how == "interrupted" {
				if err := h.errs[0]; !errors.Is(err, ErrInterrupted) {
					t.Error(err)
				}
				h = r.haul(t.Context(), Batch{}, w) // it goes on, with all that is missing
			}
			h.right()
		}))
	}
}

// TestBatchRerunOfNothing: an object that is empty now gets its name, whatever an earlier
// run has left of it.
func TestBatchRerunOfNothing(t *testing.T) {
	for _, sum := range []bool{false, true} {
		t.Run(fmt.Sprint("checksum ", sum), timeless(func(t *bubble) {
			r := newRig(t)
			r.rerun = true
			if sum {
				r.sum = func(int) string { return "sha256=" + objectAt("/1/0").body.SHA256() }
			}
			s := serve(t, &shop{})
			if err := os.WriteFile(filepath.Join(r.dir, "f0"), []byte("another one"), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := store.Open(store.Target{Dir: r.dir, Name: "f0", Rerun: true}, at(t, s, "", "/1/0"))
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Begin(identity.Identity{Size: 5000, ETag: `"before"`}); err != nil {
				t.Fatal(err)
			}
			if _, err := f.WriteAt(make([]byte, 1000), 0); err != nil {
				t.Fatal(err)
			}
			if err := f.Suspend(doneOf(0, 1000)); err != nil {
				t.Fatal(err)
			}
			h := r.haul(t.Context(), Batch{}, ware{base: s})
			h.right()
			if got := filepath.Base(h.out[0]); got != "f0.1" {
				t.Errorf("it is %s", got)
			}
		}))
	}
}

// TestBatchContinuesWithoutRanges: what is there is left as it is, and joined by the
// object only if that is another one, however often.
func TestBatchContinuesWithoutRanges(t *testing.T) {
	for _, c := range []struct {
		name    string
		there   int64
		chunked bool
		want    []string
	}{
		{"all of it", 5000, false, []string{"f0"}},
		{"all of it, of no known length", 5000, true, []string{"f0"}},
		{"a part", 3000, false, []string{"f0", "f0.1"}},
		{"a part, of no known length", 3000, true, []string{"f0", "f0.1"}},
	} {
		t.Run(c.name, timeless(func(t *bubble) {
			sh := &shop{}
			sh.gate = func(w http.ResponseWriter, _ *http.Request, o *object) bool {
				if c.chunked {
					w.(http.Flusher).Flush()
				}
				o.whole(w)
				return true
			}
			r := newRig(t)
			r.rerun, r.goOn = true, true
			w := ware{base: serve(t, sh), path: "/1/5000"}
			there := bytesOf(objectAt(w.path).body, 0, c.there)
			if err := os.WriteFile(filepath.Join(r.dir, "f0"), there, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				r.haul(t.Context(), Batch{}, w).right()
				names, err := filepath.Glob(filepath.Join(r.dir, "*"))
				if err != nil {
					t.Fatal(err)
				}
				for i := range names {
					names[i] = filepath.Base(names[i])
				}
				if !slices.Equal(names, c.want) {
					t.Errorf("there are %q, want %q", names, c.want)
				}
				if now, err := os.ReadFile(filepath.Join(r.dir, "f0")); err != nil || !bytes.Equal(now, there) {
					t.Errorf("what was there is another one: %v", err)
				}
			}
		}))
	}
}

// hasty is a batch that ends just before it hears that a file is there.
type hasty struct{ *batch }

func (h hasty) diagnose(reqs context.Context, t *transfer, err error) diagnosis {
	if errors.Is(err, errThere) {
		h.fail(ErrInterrupted)
	}
	return h.batch.diagnose(reqs, t, err)
}

// TestBatchEndsBeforeWhatIsThere: a file that has been found to be there is none that
// was not fetched.
func TestBatchEndsBeforeWhatIsThere(t *testing.T) {
	timeless(func(t *bubble) {
		r := newRig(t)
		r.rerun = true
		h := r.haul(t.Context(), Batch{}, ware{base: serve(t, &shop{}), size: 5000})
		h.right()
		clear(h.errs)
		e := r.engine()
		defer e.Close()
		jobs := make(chan *Job, 1)
		jobs <- h.jobs[0]
		close(jobs)
		b, err := newBatch(e, &Batch{Jobs: jobs, Ended: h})
		if err != nil {
			t.Fatal(err)
		}
		b.work = hasty{b}
		if err := b.run(t.Context()); !errors.Is(err, ErrInterrupted) {
			t.Fatal(err)
		}
		h.has(0)
	})(t)
}

func TestBatchChecksums(t *testing.T) {
	r := newRig(t)
	s := serve(t, &shop{})
	wares := mixed(s, 40, false)
	r.sum = func(i int) string {
		body := objectAt(fmt.Sprintf("/%d/%d", i+1, wares[i].size)).body
		if i%10 == 3 {
			body.Seed++
		}
		return "sha256=" + body.SHA256()
	}
	h := r.haul(t.Context(), Batch{}, wares...)
	for i := range wares {
		if i%10 == 3 {
			if err := h.errs[event.FileID(i)]; !errors.Is(err, ErrChecksum) {
				t.Errorf("file %d: %v", i, err)
			}
			continue
		}
		h.has(i)
	}
}

// TestBatchConnectionsWithAnEnd: a server that closes its connections now and then
// costs no more than the requests behind.
func TestBatchConnectionsWithAnEnd(t *testing.T) {
	sh := &shop{}
	served := map[string]int{}
	sh.gate = func(w http.ResponseWriter, r *http.Request, _ *object) bool {
		sh.mu.Lock()
		served[r.RemoteAddr]++
		last := served[r.RemoteAddr] == 40
		sh.mu.Unlock()
		if last {
			w.Header().Set("Connection", "close")
		}
		return false
	}
	r := newRig(t)
	h := r.haul(t.Context(), Batch{}, mixed(serve(t, sh), 300, true)...)
	h.right()
	// A server that closes while requests are on their way may take along the end of
	// its last response, once a connection.
	retries := 0
	for _, e := range of[event.RequestEnded](&h.outcome) {
		if e.Retry {
			retries++
		}
	}
	if retries > len(served) {
		t.Errorf("%d retries on %d connections", retries, len(served))
	}
}
