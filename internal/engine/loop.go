package engine

import (
	"context"
	"time"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// checkpointEvery is how much progress, in time, a crash may cost.
	checkpointEvery = scheduler.Second
	// idleWake bounds how long the owner sleeps, so that stalls are seen.
	idleWake = 250 * scheduler.Millisecond
	// pausedWake bounds it while only the consumer of a stream can change anything: observers are
	// told even so that the download lives. Chosen by hand.
	pausedWake = 5 * scheduler.Second
)

// loop drives the scheduler, or reads the object as a single stream, until the object is complete
// or something is wrong.
func (d *download) loop(ctx, reqs context.Context) {
	defer d.waker.close()
	for d.err == nil && !d.finished() {
		now := d.e.now()
		look, due, moved := d.nextWake(now), d.core.NextDue(), d.to.stream().moved()
		if d.singleStream {
			if d.advanceSingleStream(reqs); d.err != nil {
				return
			}
			look, due, moved = now+sampleEvery, now+sampleEvery, nil
		}
		sleep := d.waker.set(now, look, due)
		if d.awaitsConsumer(now) {
			sleep = time.Duration(d.whilePaused(now) - now)
		}
		d.waker.sleep(sleep)
		select {
		case <-d.waker.bell:
		case m := <-d.messages:
			d.hear(reqs, m)
		case done := <-d.background:
			done()
		case <-moved:
			d.fail(d.to.stream().failed())
			d.step(reqs, scheduler.Input{Kind: scheduler.Drained, Bytes: d.to.stream().Drained()})
		case <-d.waker.timer.C:
		case <-ctx.Done():
			d.fail(context.Cause(ctx))
			return
		}
		d.lookAround(reqs)
	}
}

// finished says whether every byte is there and known to be the object's.
func (d *download) finished() bool {
	return d.complete && (d.singleStream || d.proven()) && d.sizeBelieved(d.e.now())
}

// nextWake is until when nothing but a message can be of interest.
func (o *owner) nextWake(now scheduler.Time) scheduler.Time {
	return max(now, min(o.core.NextWake(), now+idleWake))
}

// awaitsConsumer says whether all that a stream's consumer has room for is there for it.
func (d *download) awaitsConsumer(now scheduler.Time) bool {
	s := d.to.stream()
	switch {
	case s == nil || d.complete || !d.sizeBelieved(now):
		return false
	case d.singleStream:
		return d.single.by != nil && d.single.by.waits.Load()
	case len(d.transfers) > 0:
		return false
	}
	end := s.Drained() + s.window()
	if size := d.size(); size >= 0 {
		end = min(end, size)
	}
	return d.claimableFrom0() >= end
}

// whilePaused is until when the owner sleeps while a consumer pauses: as long again as nothing has
// come, so that observers see the rates fall at first. Bytes wake it as usual.
func (d *download) whilePaused(now scheduler.Time) scheduler.Time {
	last := scheduler.Time(0)
	for i := range d.links {
		last = max(last, d.links[i].traffic.lastByte)
	}
	until := now + min(max(now-last, idleWake), pausedWake)
	if !d.singleStream {
		until = max(now, min(until, d.core.NextWake()))
	}
	return until
}

// lookAround reads the counters of the transfers, lets the scheduler decide, and does what is due.
func (d *download) lookAround(reqs context.Context) {
	if d.err != nil {
		return
	}
	now := d.e.now()
	if d.singleStream {
		d.updateSingleStream(reqs)
	} else {
		d.update(reqs, now)
	}
	d.watchStalls(now)
	d.settleDoubts(reqs, now)
	d.cancelWithdrawn()
	d.compareOverlaps(reqs, now)
	if d.complete || d.singleStream {
		d.ask(reqs, now)
	}
	d.tellOverlap(reqs)
	d.release()
	if now-d.sampled.at >= sampleEvery {
		d.sample()
	}
	if !d.checkpoint.running && now >= d.checkpoint.next && d.identified && d.sizeBelieved(now) && !d.singleStream && d.to.stream() == nil {
		d.checkpoint.next = now + checkpointEvery
		d.checkpoint.running = true
		done := d.claimable()
		go func() {
			err := d.to.Checkpoint(done)
			d.background <- func() {
				d.checkpoint.running = false
				d.fail(err)
			}
		}()
	}
	if err := d.allLost(); err != nil && !d.trySingleStream() {
		d.fail(err)
	}
}

// oversleeping is the time between two looks for stalls from which on the process is taken not to have
// been running: it was stopped, or the machine was suspended.
const oversleeping = scheduler.Second

// slept is for how long the process was not running since the last look: it could receive nothing, so
// that silence does not count.
func (o *owner) slept(now scheduler.Time) scheduler.Time {
	gap := now - o.looks.stalls
	if o.looks.stalls = now; gap < oversleeping {
		return 0
	}
	return gap
}

// watchStalls gives up requests that get no byte though nothing else comes over their link. A request that
// is queued behind another waits for that one, and the consumer of a stream may take its time.
func (d *download) watchStalls(now scheduler.Time) {
	limit := scheduler.Time(d.e.cfg.StallTimeout)
	if limit <= 0 {
		return
	}
	slept := d.slept(now)
	for _, t := range d.transfers {
		if t.waits.Load() || d.inDoubt(t) {
			t.progress = now
		}
		if slept > 0 {
			t.progress = min(now, max(t.progress, d.links[t.link].traffic.lastByte)+slept)
		}
		if now-max(t.progress, d.links[t.link].traffic.lastByte) > limit {
			t.cancel(fetch.ErrStalled)
		}
	}
}
