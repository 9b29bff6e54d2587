package engine

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/link"
)

// stranger is the answer that there is no such host, and mute that nobody can say.
func stranger(name string) error {
	return &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
}

func mute(name string) error {
	return &net.DNSError{Err: "server misbehaving", Name: name, Server: "192.0.2.1:53", IsTemporary: true}
}

// bad makes a link's answer of what comes of names that begin with "bad".
func bad(answer func(string) error) func(string) error {
	return func(name string) error {
		if strings.HasPrefix(name, "bad") {
			return answer(name)
		}
		return nil
	}
}

// stays demands that no link was lost.
func (h *haul) stays() {
	h.rig.t.Helper()
	for _, e := range of[event.LinkChanged](&h.outcome) {
		if e.State == event.LinkLost {
			h.rig.t.Errorf("link %d is lost: %s", e.Link, e.Reason)
		}
	}
}

// TestBatchNames: a name that does not resolve is a failure of its files, and costs
// neither the link nor the others.
func TestBatchNames(t *testing.T) {
	t.Parallel()
	for how, answer := range map[string]func(string) error{"stranger": stranger, "mute": mute} {
		for _, links := range []int{1, 2} {
			for _, tries := range []int{2, 20} {
				t.Run(fmt.Sprint(how, " over ", links, ", tries ", tries), timeless(func(t *bubble) {
					r := newRig(t, []*testLink{{name: "a", resolve: bad(answer)}, {name: "b", resolve: bad(answer)}}[:links]...)
					r.cfg.Tries = tries
					s := serve(t, &shop{})
					var wares []ware
					for i := range 8 {
						wares = append(wares, ware{base: s, host: fmt.Sprintf("bad%d.test", i), size: 1000})
					}
					wares = append(wares, mixed(s, 5, false)...)
					began := time.Now()
					h := r.haul(t.Context(), Batch{}, wares...)
					took := time.Since(began)
					for i := range wares {
						if i >= 8 {
							h.has(i)
							continue
						}
						dns := (*net.DNSError)(nil)
						if err := h.errs[event.FileID(i)]; !errors.As(err, &dns) || !strings.Contains(err.Error(), wares[i].host) {
							t.Errorf("file %d: %v", i, err)
						}
					}
					if most := map[string]time.Duration{"stranger": time.Second, "mute": 20 * time.Second}[how]; took > most {
						t.Errorf("it took %v", took)
					}
					h.stays()
					h.tidy()
				}))
			}
		}
	}
}

// TestBatchNamesOnly: where nothing else is asked for, one ends as soon as with one file.
func TestBatchNamesOnly(t *testing.T) {
	t.Parallel()
	here := func(name string) error {
		return &net.DNSError{Err: link.ErrHere.Error(), UnwrapErr: link.ErrHere, Name: name, IsNotFound: true}
	}
	for how, answer := range map[string]func(string) error{"stranger": stranger, "mute": mute, "here": here} {
		for _, links := range []int{1, 2} {
			t.Run(fmt.Sprint(how, " over ", links), timeless(func(t *bubble) {
				r := newRig(t, []*testLink{{name: "a", resolve: answer}, {name: "b", resolve: answer}}[:links]...)
				s := serve(t, &shop{})
				var wares []ware
				for i := range 300 {
					w := ware{base: s, size: 1000}
					if i%3 == 0 {
						w.host = fmt.Sprintf("bad%d.b\u00fccher.test", i%2)
					}
					wares = append(wares, w)
				}
				began := time.Now()
				h := r.haul(t.Context(), Batch{}, wares...)
				if took := time.Since(began); took > 3*time.Second {
					t.Errorf("it took %v", took)
				}
				for i := range wares {
					err := h.errs[event.FileID(i)]
					if dns := (*net.DNSError)(nil); !errors.As(err, &dns) || dns.Name != fetch.Hostname(h.jobs[i].URL) {
						t.Errorf("file %d: %v", i, err)
					}
					if how == "here" && !errors.Is(err, link.ErrHere) {
						t.Errorf("file %d: %v", i, err)
					}
				}
				for _, n := range r.nets {
					if n := n.dials.Load(); n > 50 {
						t.Errorf("%d questions", n)
					}
				}
				h.stays()
			}))
		}
	}
}

// TestBatchNamesOfOneLink: a name that one link does not resolve is had over another one.
func TestBatchNamesOfOneLink(t *testing.T) {
	t.Parallel()
	for how, answer := range map[string]func(string) error{"stranger": stranger, "mute": mute} {
		for _, n := range []int{1, 2, 60} {
			t.Run(fmt.Sprint(how, " of ", n), timeless(func(t *bubble) {
				r := newRig(t, &testLink{name: "a", resolve: answer}, &testLink{name: "b", trip: 100 * time.Millisecond})
				s := serve(t, &shop{})
				var wares []ware
				for i := range n {
					wares = append(wares, ware{base: s, host: "files.test", size: 20_000 + int64(i)})
				}
				began := time.Now()
				r.haul(t.Context(), Batch{}, wares...).right()
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
			}))
		}
	}
}

// TestBatchNameServerAway: when no name resolves for a while, no file is given up.
func TestBatchNameServerAway(t *testing.T) {
	timeless(func(t *bubble) {
		var away atomic.Bool
		r := newRig(t, &testLink{name: "a", rate: mib, resolve: func(name string) error {
			if away.Load() {
				return mute(name)
			}
			return nil
		}})
		r.cfg.Tries = 20
		sh := &shop{}
		sh.gate = func(http.ResponseWriter, *http.Request, *object) bool {
			if sh.requests.Load() == 5 {
				away.Store(true)
				time.AfterFunc(3*time.Second, func() { away.Store(false) })
			}
			return false
		}
		s := serve(t, sh)
		var wares []ware
		for i := range 60 {
			wares = append(wares, ware{base: s, host: fmt.Sprintf("host%d.test", i), size: 50_000})
		}
		r.haul(t.Context(), Batch{}, wares...).right()
	})(t)
}

// TestBatchNameElsewhere: a name to which a server sends a request on is that file's
// failure, and not its site's.
func TestBatchNameElsewhere(t *testing.T) {
	t.Parallel()
	for how, answer := range map[string]func(string) error{"stranger": stranger, "mute": mute} {
		for _, links := range []int{1, 2} {
			t.Run(fmt.Sprint(how, " over ", links), timeless(func(t *bubble) {
				r := newRig(t, []*testLink{{name: "a", resolve: bad(answer)}, {name: "b", resolve: bad(answer)}}[:links]...)
				sh := &shop{gate: func(w http.ResponseWriter, r *http.Request, o *object) bool {
					if o.body.Seed <= 3 {
						http.Redirect(w, r, "http://bad.test"+r.URL.Path, http.StatusFound)
					}
					return o.body.Seed <= 3
				}}
				wares := mixed(serve(t, sh), 12, false)
				h := r.haul(t.Context(), Batch{}, wares...)
				for i := range wares {
					if i >= 3 {
						h.has(i)
						continue
					}
					if err := h.errs[event.FileID(i)]; err == nil || !strings.Contains(err.Error(), "bad.test") {
						t.Errorf("file %d: %v", i, err)
					}
				}
				h.stays()
			}))
		}
	}
}

// TestBatchErrorsOfTheirOwn: where no link is left, no file's error is another one's.
func TestBatchErrorsOfTheirOwn(t *testing.T) {
	timeless(func(t *bubble) {
		r := newRig(t, &testLink{name: "a"})
		r.cfg.Tries = 2
		r.nets[0].resolve = func(name string) error {
			return &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("%s keeps silent", name)}
		}
		s := serve(t, &shop{})
		var wares []ware
		for i := range 40 {
			wares = append(wares, ware{base: s, host: fmt.Sprintf("host%dx.test", i), size: 1000})
		}
		h := r.haul(t.Context(), Batch{}, wares...)
		plain := 0
		for id, err := range h.errs {
			if classOf(err) != fetch.Network {
				t.Errorf("file %d: %v", id, err)
				continue
			}
			if err.Error() == "not fetched: no link is left (network)" {
				plain++
				continue
			}
			if !strings.Contains(err.Error(), wares[id].host+" keeps silent") {
				t.Errorf("file %d: %v", id, err)
			}
		}
		if plain == 0 || plain == len(h.errs) {
			t.Errorf("%d of %d files have no error of their own", plain, len(h.errs))
		}
		if classOf(h.err) != fetch.Network {
			t.Errorf("the batch: %v", h.err)
		}
	})(t)
}
