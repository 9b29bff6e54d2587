package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// TestBatchDenied: what one link's server denies is had over the other link, whose
// server has it.
func TestBatchDenied(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusFound, http.StatusUnauthorized, http.StatusNotFound, http.StatusServiceUnavailable} {
		for _, from := range []int64{1, 20} {
			t.Run(fmt.Sprint(status, " from ", from), timeless(func(t *bubble) {
				bad := &shop{}
				bad.gate = func(w http.ResponseWriter, _ *http.Request, _ *object) bool {
					if bad.requests.Load() < from {
						return false
					}
					w.Header().Set("Location", "file:///etc/passwd")
					w.WriteHeader(status)
					return true
				}
				r := newRig(t, &testLink{name: "a", rate: 4 * mib}, &testLink{name: "b", rate: 4 * mib, to: serve(t, bad).Listener.Addr().String()})
				wares := mixed(serve(t, &shop{}), 60, false)
				wares = append(wares, ware{base: wares[0].base, size: 10 * mib})
				r.haul(t.Context(), Batch{}, wares...).right()
			}))
		}
	}
}

// TestBatchCertificates: of a server whose certificate is good over one link only, all
// files come over that link; where it is good over none, the error is about that.
func TestBatchCertificates(t *testing.T) {
	t.Parallel()
	for _, from := range []int64{0, 20} {
		t.Run(fmt.Sprint("bad over one link, from request ", from), timeless(func(t *bubble) {
			r := newRig(t, &testLink{name: "a", rate: 4 * mib}, &testLink{name: "b", rate: mib})
			stranger := serveStranger(t, &shop{}).Listener.Addr().String()
			sh := &shop{}
			sh.gate = func(http.ResponseWriter, *http.Request, *object) bool {
				if sh.requests.Load() == from {
					r.nets[0].lead(stranger)
				}
				return false
			}
			s, web := serveTLS(t, sh)
			r.cfg.HTTP = web
			if from == 0 {
				r.nets[0].lead(stranger)
			}
			wares := mixed(s, 60, false)
			wares = append(wares, ware{base: s, size: 3 * mib})
			r.haul(t.Context(), Batch{}, wares...).right()
		}))
	}
	// Files that have begun over it, and no other that would show that it is the link.
	t.Run("bad over one link, few files", timeless(func(t *bubble) {
		r := newRig(t, &testLink{name: "a", rate: 400_000}, &testLink{name: "b", rate: 200_000, latency: 50 * time.Millisecond})
		stranger := serveStranger(t, &shop{}).Listener.Addr().String()
		s, web := serveTLS(t, &shop{})
		web.Protocol = fetch.HTTP1
		r.cfg.HTTP = web
		var wares []ware
		for range 6 {
			wares = append(wares, ware{base: s, size: 350_000})
		}
		go func() {
			for r.received() < 700_000 && t.Context().Err() == nil {
				time.Sleep(time.Millisecond)
			}
			r.nets[0].lead(stranger)
		}()
		r.haul(t.Context(), Batch{}, wares...).right()
	}))
	t.Run("bad over all links", timeless(func(t *bubble) {
		r := newRig(t)
		s := serveStranger(t, &shop{})
		wares := mixed(s, 20, false)
		h := r.haul(t.Context(), Batch{}, wares...)
		for i := range wares {
			if err := h.errs[event.FileID(i)]; classOf(err) != fetch.TLS {
				t.Errorf("file %d: %v", i, err)
			}
		}
	}))
}

// TestBatchDeniedByAll: what no link's server has ends the file, and is not a lost
// link to anybody.
func TestBatchDeniedByAll(t *testing.T) {
	timeless(func(t *bubble) {
		sh := &shop{gate: func(w http.ResponseWriter, _ *http.Request, o *object) bool {
			if o.body.Seed%3 == 0 {
				w.WriteHeader(http.StatusNotFound)
			}
			return o.body.Seed%3 == 0
		}}
		r := newRig(t)
		wares := mixed(serve(t, sh), 60, false)
		h := r.haul(t.Context(), Batch{}, wares...)
		for i := range wares {
			if (i+1)%3 != 0 {
				h.has(i)
				continue
			}
			if err := h.errs[event.FileID(i)]; classOf(err) != fetch.Status || !strings.Contains(err.Error(), "404") {
				t.Errorf("file %d: %v", i, err)
			}
			if n := sh.times(wares[i].path); n < 2 || n > 12 {
				t.Errorf("file %d was asked for %d times", i, n)
			}
		}
		for _, e := range of[event.LinkChanged](&h.outcome) {
			if e.State == event.LinkLost {
				t.Errorf("link %d is lost: %s", e.Link, e.Reason)
			}
		}
		h.tidy()
	})(t)
}

// TestBatchJournalOfHeldFile: a large file that waits for its server has a journal
// meanwhile.
func TestBatchJournalOfHeldFile(t *testing.T) {
	t.Parallel()
	sh := &shop{}
	rig := newRig(t, &testLink{name: "a"})
	sh.gate = func(w http.ResponseWriter, _ *http.Request, o *object) bool {
		if o.requests.Load() == 1 {
			return false
		}
		// Not before something has come: a file that has to wait is asked for no more.
		for i := 0; i < 500 && !begun(filepath.Join(rig.dir, "f0.part")); i++ {
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(200 * time.Millisecond)
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	enough := errors.New("the journal is there")
	late := time.AfterFunc(20*time.Second, func() { cancel(errors.New("there is no journal")) })
	defer late.Stop()
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		for ctx.Err() == nil {
			var journal struct{ Done []scheduler.Range }
			text, err := os.ReadFile(filepath.Join(rig.dir, "f0.part.json"))
			if err == nil && json.Unmarshal(text, &journal) == nil && len(journal.Done) > 0 {
				cancel(enough)
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	h := rig.haul(ctx, Batch{}, ware{base: serve(t, sh), size: 2 * journalFrom})
	if !errors.Is(h.err, enough) {
		t.Error(h.err)
	}
}

// begun says whether the last of the first bytes that are asked for is in a file.
func begun(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // it was only read
	tail := make([]byte, 64)
	n, _ := f.ReadAt(tail, 256<<10-int64(len(tail)))
	return slices.ContainsFunc(tail[:n], func(b byte) bool { return b != 0 })
}

// TestBatchLedAstray: a site is not given up because its server leads one link to where
// nobody is, however quickly that fails each time, while another link's answers.
func TestBatchLedAstray(t *testing.T) {
	timeless(func(t *bubble) {
		sh := &shop{}
		astray := &shop{}
		astray.gate = func(w http.ResponseWriter, r *http.Request, _ *object) bool {
			if astray.requests.Load() <= 3 {
				return false
			}
			http.Redirect(w, r, "http://127.0.0.1:9"+r.URL.Path, http.StatusFound)
			return true
		}
		s := serve(t, sh)
		r := newRig(t, &testLink{name: "a", to: serve(t, astray).Listener.Addr().String(), rate: mib}, &testLink{name: "b", latency: 200 * time.Millisecond, rate: mib})
		r.cfg.Tries = 2
		var wares []ware
		for i := range 2 {
			wares = append(wares, ware{base: s, size: 3*mib + int64(i), known: true})
		}
		r.haul(t.Context(), Batch{}, wares...).right()
	})(t)
}

// TestBatchRefused: where nobody listens over the link that is asked first, the files come
// over the other one; where nobody does over that either, it is over soon.
func TestBatchRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		both, backup, dead bool
		most               time.Duration
	}{
		{"over one link", false, false, false, 5 * time.Second},
		{"over one link, the other is a backup", false, true, false, 5 * time.Second},
		{"over one link, the other is dead", false, false, true, 2 * time.Minute},
		{"over both", true, false, false, time.Second},
		{"over both, one is a backup", true, true, false, time.Second},
	} {
		t.Run(c.name, timeless(func(t *bubble) {
			r := newRig(t, &testLink{name: "a"}, &testLink{name: "b", latency: 20 * time.Millisecond})
			r.cfg.Tries = 3
			r.nets[0].refuse.Store(true)
			r.nets[1].refuse.Store(c.both)
			r.nets[1].hole.Store(c.dead)
			r.terms[1].Backup = c.backup
			begun := time.Now()
			h := r.haul(t.Context(), Batch{}, slices.Repeat([]ware{{base: serve(t, &shop{}), size: 20_000}}, 100)...)
			if took := time.Since(begun); took > c.most {
				t.Errorf("took %v", took)
			}
			if !c.both && !c.dead {
				h.right()
				return
			}
			for i := range h.wares {
				if err := h.errs[event.FileID(i)]; classOf(err) != fetch.Refused {
					t.Errorf("file %d: %v", i, err)
				}
			}
			if n := r.nets[1].dials.Load(); c.both && n > 20 {
				t.Errorf("%d connections over the second link", n)
			}
		}))
	}
}

// TestBatchBusyLinkIsRefuted: a link whose server asks to come again later, for files that
// are then downloaded by themselves for another reason, is given up without being denied any.
func TestBatchBusyLinkIsRefuted(t *testing.T) {
	timeless(func(t *bubble) {
		s := serve(t, &shop{gate: func(w http.ResponseWriter, _ *http.Request, o *object) bool {
			time.Sleep(50 * time.Millisecond)
			if o.body.Seed%10 == 0 {
				return false // else it is a server without ranges
			}
			o.lengthless(w)
			return true
		}})
		busy := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		r := newRig(t, &testLink{name: "a"}, &testLink{name: "b", to: busy.Listener.Addr().String()})
		r.cfg.Tries = 20
		r.haul(t.Context(), Batch{Mode: tuning.Manual, Concurrency: 2}, slices.Repeat([]ware{{base: s, size: 10_000}}, 120)...).right()
	})(t)
}
