package engine

import (
	"context"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/store"
)

// TestRequestsOfAFileWaitForItsPlace: while one of them waits until the file may be opened, another
// one of the same file waits, too, as long as its context lasts. It is not taken for stalled.
func TestRequestsOfAFileWaitForItsPlace(t *testing.T) {
	u := at(t, serve(t, &shop{}), "", "/1/1000")
	b := &batch{slots: make(chan struct{}, 1)}
	f := &file{b: b, job: &Job{URL: u, Target: store.Target{Dir: t.TempDir(), Rerun: true}}, fileObject: fileObject{size: 1000}, output: output{mu: make(mutex, 1)}}
	f.output.id = identity.Identity{Size: 1000}
	b.slots <- struct{}{} // another file's

	type opened struct {
		to  sink
		err error
	}
	ask := func(ctx context.Context) (*transfer, chan opened) {
		tr, done := &transfer{request: request{file: f}}, make(chan opened, 1)
		go func() {
			to, err := f.open(ctx, tr)
			done <- opened{to, err}
		}()
		for deadline := time.Now().Add(10 * time.Second); !tr.waits.Load(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("a request that waits is not known to")
			}
		}
		return tr, done
	}
	hear := func(done chan opened) opened {
		t.Helper()
		select {
		case o := <-done:
			return o
		case <-time.After(10 * time.Second):
			t.Fatal("it waits in vain")
			return opened{}
		}
	}
	firstCtx, cancelFirst := context.WithCancel(t.Context())
	_, first := ask(firstCtx)
	ctx, cancel := context.WithCancel(t.Context())
	_, second := ask(ctx)
	third, thirdDone := ask(t.Context())
	fourth, fourthDone := ask(t.Context())

	cancel()
	if o := hear(second); classOf(o.err) != fetch.Canceled {
		t.Errorf("the second: %v", o.err)
	}
	cancelFirst() // another one waits in its place
	if o := hear(first); classOf(o.err) != fetch.Canceled {
		t.Errorf("the first: %v", o.err)
	}
	<-b.slots
	a, c := hear(thirdDone), hear(fourthDone)
	if a.err != nil || c.err != nil || a.to != c.to || third.waits.Load() || fourth.waits.Load() {
		t.Errorf("%v, %v", a, c)
	}
	if len(b.slots) != 1 {
		t.Errorf("%d slots are taken", len(b.slots))
	}
	if err := f.close(nil); err != nil {
		t.Error(err)
	}
}
