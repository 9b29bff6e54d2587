package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

func TestBatchErrorsOfFiles(t *testing.T) {
	r := newRig(t)
	s := serve(t, &shop{gate: func(w http.ResponseWriter, _ *http.Request, o *object) bool {
		switch o.body.Seed % 10 {
		case 3:
			w.WriteHeader(http.StatusForbidden)
		case 7:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			return false
		}
		return true
	}})
	wares := mixed(s, 100, false)
	wares[50].path = "/missing"
	h := r.haul(t.Context(), Batch{}, wares...)
	want := map[uint64]int{3: http.StatusForbidden, 7: http.StatusUnauthorized}
	for i := range wares {
		status := want[uint64(i+1)%10]
		if i == 50 {
			status = http.StatusNotFound
		}
		if status == 0 {
			h.has(i)
			continue
		}
		var fe *fetch.Error
		if !errors.As(h.errs[event.FileID(i)], &fe) || fe.Status != status {
			t.Errorf("file %d: %v", i, h.errs[event.FileID(i)])
		}
	}
	if classOf(h.err) == 0 {
		t.Errorf("the batch: %v", h.err)
	}
	h.tidy()
}

// TestBatchBroken: connections that break off, before and within responses, cost
// nobody a file.
func TestBatchBroken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	sh := &shop{}
	sh.gate = func(w http.ResponseWriter, _ *http.Request, o *object) bool {
		if o.body.Seed%9 != 4 || o.requests.Load() > 2 {
			return false
		}
		if o.requests.Load() == 1 {
			hijack(w)
			return true
		}
		hijack(w, fmt.Appendf(nil, "HTTP/1.1 206 Partial Content\r\nContent-Length: %d\r\nContent-Range: bytes 0-%d/%d\r\nETag: %s\r\n\r\n",
			o.body.Size, o.body.Size-1, o.body.Size, o.etag), bytesOf(o.body, 0, o.body.Size/2))
		return true
	}
	r.haul(t.Context(), Batch{}, mixed(serve(t, sh), 60, true)...).right()
}

func TestBatchBusyServer(t *testing.T) {
	timeless(func(t *bubble) {
		r := newRig(t)
		sh := &shop{}
		sh.gate = func(w http.ResponseWriter, _ *http.Request, o *object) bool {
			switch {
			case o.body.Seed%8 == 1 && o.requests.Load() == 1:
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
			case o.body.Seed == 20:
				w.WriteHeader(http.StatusBadGateway)
			default:
				return false
			}
			return true
		}
		wares := mixed(serve(t, sh), 60, false)
		h := r.haul(t.Context(), Batch{}, wares...)
		for i := range wares {
			if i == 19 {
				if err := h.errs[19]; classOf(err) != fetch.Busy || !strings.Contains(err.Error(), "tries") {
					t.Errorf("file 19: %v", err)
				}
				continue
			}
			h.has(i)
		}
	})(t)
}

// TestBatchDeadSite: a server that is not there does not hold up another's files.
func TestBatchDeadSite(t *testing.T) {
	timeless(func(t *bubble) {
		r := newRig(t)
		s := serve(t, &shop{})
		dead := serve(t, &shop{})
		dead.Close()
		var wares []ware
		for i := range 150 {
			w := ware{base: s, size: 5000 + int64(i)}
			if i%3 == 0 {
				w.base = dead
			}
			wares = append(wares, w)
		}
		h := r.haul(t.Context(), Batch{}, wares...)
		for i := range wares {
			if i%3 == 0 {
				if c := classOf(h.errs[event.FileID(i)]); c != fetch.Refused {
					t.Errorf("file %d: %v", i, h.errs[event.FileID(i)])
				}
				continue
			}
			h.has(i)
		}
		for _, e := range of[event.LinkChanged](&h.outcome) {
			if e.State == event.LinkLost {
				t.Errorf("link %d is lost: %s", e.Link, e.Reason)
			}
		}
		h.tidy()
	})(t)
}

// TestBatchSiteComesBack: a server that goes away for a while is waited for.
func TestBatchSiteComesBack(t *testing.T) {
	timeless(func(t *bubble) {
		r := newRig(t)
		s := serve(t, &shop{})
		var down atomic.Bool
		var n atomic.Int64
		flaky := serve(t, &shop{gate: func(w http.ResponseWriter, _ *http.Request, _ *object) bool {
			if n.Add(1) == 20 {
				down.Store(true)
				time.AfterFunc(600*time.Millisecond, func() { down.Store(false) })
			}
			if down.Load() {
				hijack(w)
				return true
			}
			return false
		}})
		var wares []ware
		for i := range 100 {
			w := ware{base: s, size: 30000 + int64(i)}
			if i%2 == 0 {
				w.base = flaky
			}
			wares = append(wares, w)
		}
		r.haul(t.Context(), Batch{}, wares...).right()
	})(t)
}

func TestBatchLinkDies(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"silent", "broken"} {
		t.Run(how, timeless(func(t *bubble) {
			r := newRig(t, &testLink{name: "a", rate: 4 * mib}, &testLink{name: "b", rate: 4 * mib})
			go func() {
				r.await(t.Context(), 2*mib)
				if how == "silent" {
					r.nets[1].hole.Store(true)
				} else {
					r.nets[1].refuse.Store(true)
					r.nets[1].breakAll()
				}
			}()
			r.haul(t.Context(), Batch{}, mixed(serve(t, &shop{}), 300, false)...).right()
		}))
	}
}

// TestBatchNoLink: when no link is left, everything that was begun is reported.
func TestBatchNoLink(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.cfg.Tries = 2
	for _, n := range r.nets {
		n.to = "127.0.0.1:1" // whatever answers there, it is not a server
		n.refuse.Store(false)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	for _, n := range r.nets {
		n.to = ln.Addr().String()
	}
	h := r.haul(t.Context(), Batch{}, mixed(serve(t, &shop{}), 500, false)...)
	if c := classOf(h.err); c != fetch.Network {
		t.Errorf("error %v", h.err)
	}
	if len(h.errs) == 0 {
		t.Error("nothing was reported")
	}
	for i, err := range h.errs {
		if err == nil {
			t.Errorf("file %d has come", i)
		}
	}
	h.tidy()
}

// TestBatchInterrupted: what is worth it is kept, and the next run goes on with it.
func TestBatchInterrupted(t *testing.T) {
	timeless(func(t *bubble) {
		r := newRig(t, &testLink{name: "a", rate: 2 * mib}, &testLink{name: "b", rate: 2 * mib})
		s := serve(t, &shop{})
		wares := append([]ware{{base: s, size: 20 * mib}}, mixed(s, 300, false)...)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			r.await(ctx, 8*mib)
			cancel(ErrInterrupted)
		}()
		h := r.haul(ctx, Batch{}, wares...)
		if !errors.Is(h.err, ErrInterrupted) {
			t.Fatal(h.err)
		}
		done := 0
		for i := range wares {
			switch err, ended := h.errs[event.FileID(i)]; {
			case ended && err == nil:
				h.has(i)
				done++
			case ended && !errors.Is(err, ErrInterrupted):
				t.Errorf("file %d: %v", i, err)
			}
		}
		parts, err := filepath.Glob(filepath.Join(r.dir, "*.part"))
		if err != nil {
			t.Fatal(err)
		}
		if len(parts) != 1 || filepath.Base(parts[0]) != "f0.part" {
			t.Errorf("%v are left", parts)
		}
		before := r.received()
		h = r.haul(t.Context(), Batch{}, wares...)
		if h.err != nil {
			t.Fatal(h.err)
		}
		h.has(0)
		h.tidy()
		known := false
		for _, e := range of[event.ObjectKnown](&h.outcome) {
			known = known || e.File == 0 && e.Resumed > 0
		}
		if !known {
			t.Errorf("nothing of the large file was resumed; %d bytes, %d before", r.received()-before, before)
		}
	})(t)
}

func TestBatchDuplicates(t *testing.T) {
	r := newRig(t)
	s := serve(t, &shop{})
	var wares []ware
	for range 40 {
		wares = append(wares, ware{base: s, size: 9999, path: "/5/9999"})
	}
	r.haul(t.Context(), Batch{}, wares...).right()
}

func TestBatchHTTP2(t *testing.T) {
	sh := &shop{}
	s, web := serveTLS(t, sh)
	r := newRig(t)
	r.cfg.HTTP = web
	r.nets[0].bare, r.nets[1].bare = false, false
	wares := mixed(s, 100, false)
	wares = append(wares, ware{base: s, size: 5 * mib}, ware{base: s, size: 0})
	r.haul(t.Context(), Batch{}, wares...).right()
}

func TestBatchTLSNotTrusted(t *testing.T) {
	t.Parallel()
	s, _ := serveTLS(t, &shop{})
	open := serve(t, &shop{})
	r := newRig(t)
	wares := mixed(open, 40, false)
	for i := range wares {
		if i%2 == 0 {
			wares[i].base = s
		}
	}
	h := r.haul(t.Context(), Batch{}, wares...)
	for i := range wares {
		if i%2 == 0 {
			if classOf(h.errs[event.FileID(i)]) != fetch.TLS {
				t.Errorf("file %d: %v", i, h.errs[event.FileID(i)])
			}
			continue
		}
		h.has(i)
	}
}

// TestBatchOneAtATime: with manual concurrency 1 there is never more than one file.
func TestBatchOneAtATime(t *testing.T) {
	r := newRig(t)
	h := r.haul(t.Context(), Batch{Mode: tuning.Manual, Concurrency: 1}, mixed(serve(t, &shop{}), 60, true)...)
	h.right()
	open := map[event.FileID]int{}
	for _, e := range h.events {
		switch e := e.(type) {
		case event.RequestStarted:
			if e.Chunk >= firstProbe { // asks what another link says of a file that is there
				continue
			}
			if open[e.File]++; len(open) > 1 {
				t.Fatalf("%d files at once", len(open))
			}
		case event.RequestEnded:
			if e.Chunk >= firstProbe {
				continue
			}
			if open[e.File]--; open[e.File] == 0 {
				delete(open, e.File)
			}
		}
	}
}

func TestBatchNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.haul(t.Context(), Batch{}).right()
}
