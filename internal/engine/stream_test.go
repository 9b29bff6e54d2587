package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
)

// consumer takes a stream's bytes as slowly as a test wants.
type consumer struct {
	sum   hash.Hash
	n     atomic.Int64
	pause time.Duration // per write
	stop  int64         // after so many bytes it fails with EPIPE; 0: never
	block chan struct{} // closed: it goes on; nil: it never waits
}

func (c *consumer) Write(p []byte) (int, error) {
	if c.block != nil && c.n.Load() > 0 {
		<-c.block
	}
	if c.stop > 0 && c.n.Load() >= c.stop {
		return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
	}
	time.Sleep(c.pause)
	c.sum.Write(p)
	c.n.Add(int64(len(p)))
	return len(p), nil
}

func newConsumer() *consumer { return &consumer{sum: sha256.New()} }

func (c *consumer) hash() string { return hex.EncodeToString(c.sum.Sum(nil)) }

func (o *outcome) nobodyBlamed() {
	o.t.Helper()
	for _, e := range of[event.LinkChanged](o) {
		if e.State != event.LinkUsed {
			o.t.Errorf("link %d: %s: %s", e.Link, e.State, e.Reason)
		}
	}
	for _, e := range of[event.RequestEnded](o) {
		if e.Retry {
			o.t.Errorf("a request ended as %s: %s", e.Outcome, e.Error)
		}
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	stream := func(r *rig, o *object, c *consumer) *outcome {
		job := r.job(at(r.t, serve(r.t, o), "", "/f"))
		job.Stdout = c
		return r.do(context.Background(), job)
	}
	t.Run("in order", timeless(func(t *bubble) {
		o := newObject(12 * mib)
		r := newRig(t, &testLink{name: "a", rate: 16 * mib}, &testLink{name: "b", rate: 32 * mib, latency: 50 * time.Millisecond})
		c := newConsumer()
		got := stream(r, o, c)
		if got.err != nil || c.hash() != o.body.SHA256() {
			t.Fatalf("%d bytes, %v", c.n.Load(), got.err)
		}
		if n := got.carried(2); n[0] == 0 || n[1] == 0 {
			t.Errorf("carried %v", n)
		}
	}))
	t.Run("slow consumer", timeless(func(t *bubble) {
		o := newObject(20 * mib)
		r := newRig(t)
		r.cfg.StallTimeout = 1500 * time.Millisecond
		c := newConsumer()
		c.block = make(chan struct{})
		time.AfterFunc(4*time.Second, func() {
			if ahead := r.received() - c.n.Load(); ahead > streamWindow+mib {
				t.Errorf("%d bytes ahead of the consumer", ahead)
			}
			close(c.block)
		})
		got := stream(r, o, c)
		if got.err != nil || c.hash() != o.body.SHA256() {
			t.Fatalf("%d bytes, %v", c.n.Load(), got.err)
		}
		got.nobodyBlamed()
	}))
	t.Run("slow consumer of a whole object", timeless(func(t *bubble) {
		o := newObject(20 * mib)
		o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool { o.whole(w); return true }
		r := newRig(t, &testLink{name: "a"})
		r.cfg.StallTimeout = 1500 * time.Millisecond
		c := newConsumer()
		c.block = make(chan struct{})
		time.AfterFunc(4*time.Second, func() { close(c.block) })
		got := stream(r, o, c)
		if got.err != nil || c.hash() != o.body.SHA256() {
			t.Fatalf("%d bytes, %v", c.n.Load(), got.err)
		}
		for _, e := range of[event.RequestEnded](got) {
			if e.Retry {
				t.Errorf("a request ended as %s: %s", e.Outcome, e.Error)
			}
		}
	}))
	for _, kind := range []string{"ranges", "whole"} {
		t.Run("the consumer goes away, "+kind, timeless(func(t *bubble) {
			o := newObject(20 * mib)
			if kind == "whole" {
				o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool { o.whole(w); return true }
			}
			r := newRig(t)
			c := newConsumer()
			c.stop, c.block = 1, make(chan struct{})
			time.AfterFunc(time.Second, func() { close(c.block) }) // by then the window is full, and nothing in flight
			start := time.Now()
			got := stream(r, o, c)
			if !errors.Is(got.err, syscall.EPIPE) {
				t.Fatalf("error %v", got.err)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %v", took)
			}
		}))
	}
	t.Run("a whole object that breaks off goes on where it can be told the same", timeless(func(t *bubble) {
		o := newObject(3 * mib)
		o.gate = func(w http.ResponseWriter, _ *http.Request, n int64) bool {
			if n == 1 {
				hijack(w, []byte("HTTP/1.1 200 OK\r\nEtag: \"v1\"\r\nContent-Length: 3145728\r\n\r\n"), bytesOf(o.body, 0, mib))
				return true
			}
			o.whole(w)
			return true
		}
		r := newRig(t, &testLink{name: "a"})
		c := newConsumer()
		if got := stream(r, o, c); got.err != nil || c.hash() != o.body.SHA256() {
			t.Fatalf("%d bytes, %v", c.n.Load(), got.err)
		}
	}))
	t.Run("a whole object that changes meanwhile", timeless(func(t *bubble) {
		o := newObject(3 * mib)
		o.gate = func(w http.ResponseWriter, _ *http.Request, n int64) bool {
			if n == 1 {
				hijack(w, []byte("HTTP/1.1 200 OK\r\nEtag: \"v0\"\r\nContent-Length: 3145728\r\n\r\n"), bytes.Repeat([]byte("x"), mib))
				return true
			}
			o.whole(w)
			return true
		}
		r := newRig(t, &testLink{name: "a"})
		if got := stream(r, o, newConsumer()); !errors.Is(got.err, ErrChanged) {
			t.Fatalf("error %v", got.err)
		}
		if got := r.get(at(t, serve(t, o), "", "/f")); got.err != nil { // a file can start over
			t.Fatal(got.err)
		}
	}))
	t.Run("checksum", timeless(func(t *bubble) {
		o := newObject(3 * mib)
		for _, want := range []string{o.body.SHA256(), strings.Repeat("0", 64)} {
			r := newRig(t)
			sum, err := ParseChecksum("sha256=" + want)
			if err != nil {
				t.Fatal(err)
			}
			job := r.job(at(t, serve(t, o), "", "/f"))
			job.Stdout, job.Checksum = newConsumer(), sum
			got := r.do(context.Background(), job)
			if good := want == o.body.SHA256(); good != (got.err == nil) || !good && !errors.Is(got.err, ErrChecksum) {
				t.Errorf("error %v", got.err)
			}
			job = r.job(job.URL)
			job.Checksum = sum
			got = r.do(context.Background(), job)
			if good := want == o.body.SHA256(); good != (got.err == nil) || !good && !errors.Is(got.err, ErrChecksum) {
				t.Errorf("file: error %v", got.err)
			}
		}
	}))
}
