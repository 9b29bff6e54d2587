package engine

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/identity"
)

// TestACompletePartIsNoProof: what an earlier run had all of, but not named, is not the object of
// another URL or version, even of a byte, and its name is what the server says now.
func TestACompletePartIsNoProof(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int64{"large": 2 * mib, "a byte": 1} {
		t.Run(name, timeless(func(t *bubble) {
			then, now := newObject(size), newObject(size)
			now.body.Seed, now.etag = 99, `"now"`
			r := newRig(t)
			leftover(t, r, at(t, serve(t, then), "", "/then"), then, identity.Identity{Size: size, ETag: then.etag}, 0, size)
			u := at(t, serve(t, now), "", "/now")
			job := r.job(u)
			job.Target.Continue = true
			r.do(context.Background(), job).right(now.body)
		}))
	}
	t.Run("nothing proves it", timeless(func(t *bubble) { // and a byte of the one in the other would be the worst
		then, now := newObject(2*mib), newObject(2*mib)
		now.body.Seed, now.etag, now.modified = 99, "", time.Time{}
		r := newRig(t)
		u := at(t, serve(t, now), "", "/f")
		leftover(t, r, u, then, identity.Identity{Size: 2 * mib}, 0, 2*mib)
		r.do(context.Background(), r.job(u)).right(now.body)
	}))
	t.Run("its name", timeless(func(t *bubble) {
		o := newObject(mib)
		o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
			w.Header().Set("Content-Disposition", `attachment; filename="served"`)
			return false
		}
		r := newRig(t)
		u := at(t, serve(t, o), "", "/f")
		leftover(t, r, u, o, identity.Identity{Size: mib, ETag: o.etag}, 0, mib)
		job := r.job(u)
		job.Target.Served = true
		got := r.do(context.Background(), job)
		if got.right(o.body); filepath.Base(got.res.Output) != "served" {
			t.Errorf("it is called %s", got.res.Output)
		}
	}))
}
