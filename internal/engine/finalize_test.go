package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/pkg/scheduler"
)

// TestCommitsAreGathered: files that are complete wait for others for a quarter of a second,
// but not where nothing else is to come, nor where they keep others from being opened.
func TestCommitsAreGathered(t *testing.T) {
	t.Parallel()
	const ms = scheduler.Millisecond
	for _, c := range []struct {
		name               string
		ready, files, open int
		committing, scarce bool
		now                scheduler.Time
		want               bool
	}{
		{"the first one", 1, 9, 512, false, false, 0, true},
		{"none", 0, 9, 512, false, false, 900 * ms, false},
		{"soon after others", 3, 9, 512, false, false, 249 * ms, false},
		{"a quarter of a second after others", 3, 9, 512, false, false, 250 * ms, true},
		{"while others are committed", 3, 9, 512, true, false, 900 * ms, false},
		{"the last ones", 3, 3, 512, false, false, 1 * ms, true},
		{"many of those that may be open", 128, 900, 512, false, false, 1 * ms, true},
		{"while others cannot be opened", 1, 900, 512, false, true, 1 * ms, true},
		{"one of few that may be open", 1, 900, 4, false, false, 1 * ms, true},
	} {
		b := finalizer{ready: make([]*file, c.ready), committing: c.committing, scarce: c.scarce}
		if c.now > 0 {
			b.nextCommit = commitEvery
		}
		if got := b.due(c.now, c.files, c.open); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// ends takes what came of the files of a batch.
type ends struct{ errs []error }

func (e *ends) Ended(_ *Job, _ Result, err error) { e.errs = append(e.errs, err) }

// TestBelievedFilesAreForgotten: a batch keeps no list of the files whose sizes it has come to
// believe: it would go through it at each look.
func TestBelievedFilesAreForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t, &testLink{name: "a"})
	srv := httptest.NewServer(&shop{})
	t.Cleanup(srv.Close)
	const files = 40
	jobs := make(chan *Job, files)
	for i := range files {
		path := fmt.Sprintf("/%d/1000", i+1)
		jobs <- &Job{ID: event.FileID(i), URL: at(t, srv, "", path), Target: store.Target{Dir: r.dir, Name: fmt.Sprint(i)}}
	}
	close(jobs)
	e := r.engine()
	defer e.Close()
	var came ends
	b, err := newBatch(e, &Batch{Jobs: jobs, Ended: &came})
	if err == nil {
		err = b.run(context.Background())
	}
	if err = errors.Join(append(came.errs, err)...); err != nil || len(came.errs) != files {
		t.Fatalf("%d files, %v", len(came.errs), err)
	}
	if n := len(b.unconfirmed); n > 0 {
		t.Errorf("%d files are still waited for", n)
	}
}
