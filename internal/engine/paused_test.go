package engine

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// TestPausedConsumerLetsTheOwnerSleep: while the consumer of a stream takes nothing, and its window is
// full, there is next to nothing to look at. When it goes on, so does the download, at once.
func TestPausedConsumerLetsTheOwnerSleep(t *testing.T) {
	t.Parallel()
	const (
		pause = 40 * time.Second
		most  = 8 // looks from the 10th second on
	)
	for _, kind := range []string{"ranges", "whole"} {
		t.Run(kind, timeless(func(t *bubble) {
			o := newObject(40 * mib)
			if kind == "whole" {
				o.gate = func(w http.ResponseWriter, _ *http.Request, _ int64) bool { o.whole(w); return true }
			}
			r := newRig(t, &testLink{name: "a", rate: 8 * mib}, &testLink{name: "b", rate: 8 * mib})
			c := newConsumer()
			c.block = make(chan struct{})
			time.AfterFunc(pause, func() { close(c.block) })
			job := r.job(at(t, serve(t, o), "", "/f"))
			job.Stdout = c
			start := time.Now()
			got := r.do(context.Background(), job)
			if took := time.Since(start); got.err != nil || c.hash() != o.body.SHA256() || took > pause+8*time.Second {
				t.Fatalf("%d bytes after %v, %v", c.n.Load(), took, got.err)
			}
			got.nobodyBlamed()
			ticks, samples := 0, 0
			inPause := func(at scheduler.Time) bool { return at > 10*scheduler.Second && at < scheduler.Time(pause) }
			for _, e := range of[event.Step](got) {
				if e.Input.Kind == scheduler.Tick && inPause(e.At) {
					ticks++
				}
			}
			for _, e := range of[event.Sample](got) {
				if inPause(e.At) {
					samples++
				}
			}
			if ticks > most || samples == 0 || samples > most {
				t.Errorf("%d looks and %d samples from the 10th second of a pause of %v on", ticks, samples, pause)
			}
		}))
	}
}

// TestIdleBackupIsNotLookedAt: while another link works, a backup adds no looks at what has come.
func TestIdleBackupIsNotLookedAt(t *testing.T) {
	looks := func(t *bubble, links ...*testLink) (n int) {
		r := newRig(t, links...)
		r.terms[len(links)-1].Backup = len(links) > 1
		got := r.get(at(t, serve(t, newObject(10*mib)), "", "/f"))
		if got.err != nil {
			t.Fatal(got.err)
		}
		if carried := got.carried(len(links)); len(links) > 1 && carried[1] > 0 {
			t.Fatalf("carried %v", carried)
		}
		for _, e := range of[event.Step](got) {
			if e.Input.Kind == scheduler.Tick {
				n++
			}
		}
		return n
	}
	timeless(func(t *bubble) {
		alone := looks(t, &testLink{name: "a", rate: mib})
		beside := looks(t, &testLink{name: "a", rate: mib}, &testLink{name: "b", rate: mib})
		if beside > alone+alone/10 { // goroutines that run at the same moment do so in any order
			t.Errorf("%d looks with a backup, %d without", beside, alone)
		}
	})(t)
}
