package engine

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/pkg/scheduler"
)

// partOf is a part of o, as an answer would describe it.
func partOf(o *object, off, end int64) *Part {
	c := identity.Claim{Identity: identity.Identity{Size: o.body.Size, ETag: o.etag, LastModified: o.modified.UTC().Format(http.TimeFormat)}}
	return &Part{Object: c, Range: scheduler.Range{Off: off, End: end}}
}

func TestPartOfObject(t *testing.T) {
	t.Parallel()
	const size = 40 * mib
	for _, test := range []struct {
		name     string
		off, end int64
	}{
		{"from the middle to the end", 17*mib + 3, size},
		{"within", 5, 9*mib + 1},
		{"all", 0, size},
		{"a part beyond the window", 39 * mib, size},
		{"one byte", 30 * mib, 30*mib + 1},
	} {
		t.Run(test.name, timeless(func(t *bubble) {
			o := newObject(size)
			r := newRig(t, &testLink{name: "a", rate: 16 * mib}, &testLink{name: "b", rate: 32 * mib, latency: 50 * time.Millisecond})
			var got bytes.Buffer
			job := r.job(at(t, serve(t, o), "", "/f"))
			job.Stdout, job.Part = &got, partOf(o, test.off, test.end)
			out := r.do(context.Background(), job)
			if out.err != nil || !bytes.Equal(got.Bytes(), bytesOf(o.body, test.off, test.end)) {
				t.Fatalf("%d bytes of %d: %v", got.Len(), test.end-test.off, out.err)
			}
			if sent, most := o.sent.Load(), test.end-test.off; sent > most+most/10+64<<10 {
				t.Errorf("%d bytes were sent of a part of %d", sent, most)
			}
			if n := out.carried(2); test.end-test.off > 8*mib && (n[0] == 0 || n[1] == 0) {
				t.Errorf("carried %v", n)
			}
		}))
	}
}

// TestPartOfChangedObject: not one byte of another version is handed on.
func TestPartOfChangedObject(t *testing.T) {
	t.Parallel()
	for _, off := range []int64{0, mib} {
		t.Run("", timeless(func(t *bubble) {
			o := newObject(8 * mib)
			part := partOf(o, off, o.body.Size)
			o.etag = `"v2"`
			o.modified = o.modified.Add(time.Hour)
			r := newRig(t)
			r.cfg.Tries = 2
			var got bytes.Buffer
			job := r.job(at(t, serve(t, o), "", "/f"))
			job.Stdout, job.Part = &got, part
			if out := r.do(context.Background(), job); out.err == nil || got.Len() > 0 {
				t.Errorf("%d bytes of another version: %v", got.Len(), out.err)
			}
		}))
	}
}

// TestPartOfSlowConsumer: no more than the window is held.
func TestPartOfSlowConsumer(t *testing.T) {
	timeless(func(t *bubble) {
		o := newObject(64 * mib)
		r := newRig(t)
		c := newConsumer()
		c.block = make(chan struct{})
		time.AfterFunc(4*time.Second, func() {
			if ahead := r.received() - c.n.Load(); ahead > streamWindow+mib {
				t.Errorf("%d bytes ahead of the consumer", ahead)
			}
			close(c.block)
		})
		job := r.job(at(t, serve(t, o), "", "/f"))
		job.Stdout, job.Part = c, partOf(o, 20*mib, o.body.Size)
		if out := r.do(context.Background(), job); out.err != nil {
			t.Fatal(out.err)
		}
		want := newConsumer()
		if _, err := io.Copy(want, io.NewSectionReader(o.body, 20*mib, 44*mib)); err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if c.hash() != want.hash() {
			t.Error("other bytes")
		}
	})(t)
}
