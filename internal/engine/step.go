package engine

import (
	"context"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// step gives the scheduler an input and carries out its actions.
func (d *download) step(reqs context.Context, in scheduler.Input) {
	if d.wholeMode {
		return // there is nothing left to schedule
	}
	now := d.e.now()
	d.actions = d.core.Step(now, in, d.actions[:0])
	if d.e.cfg.Record {
		d.e.cfg.Bus.Publish(event.Step{At: now, File: d.job.ID, Input: in, Actions: append([]scheduler.Action(nil), d.actions...)})
	}
	for _, a := range d.actions {
		d.act(reqs, a)
	}
}

func (d *download) act(reqs context.Context, a scheduler.Action) {
	switch a.Kind {
	case scheduler.Start:
		if d.err == nil {
			t := &transfer{chunk: a.Chunk, link: a.Link, stream: a.Stream, off: a.Range.Off, copy: a.Copy}
			t.end.Store(a.Range.End)
			d.launch(reqs, t)
		}
	case scheduler.Shrink:
		if t := d.find(a.Chunk); t != nil {
			t.end.Store(a.Range.End)
			if t.resp != nil {
				t.resp.Gather(1) // it may be waiting for more than that
			}
		}
	case scheduler.Cancel:
		if t := d.find(a.Chunk); t != nil {
			t.released, t.counts = true, a.Range.Len()
			cause := errReleased
			if d.banning(a.Link) {
				cause = fetch.ErrStalled // its connection is of no use either
			}
			t.cancel(cause)
		}
	case scheduler.Ban:
		d.links[a.Link].banned = true
		d.changed(a.Link, event.LinkBanned, "too slow or silent")
	case scheduler.Unban:
		d.links[a.Link].banned = false
		d.changed(a.Link, event.LinkUsed, "it answers again")
	case scheduler.Complete:
		d.complete = true
	case scheduler.Rest, scheduler.Wake:
		d.rest(a)
	}
}

// banning says whether the actions being carried out ban a link.
func (d *download) banning(id scheduler.LinkID) bool {
	for _, a := range d.actions {
		if a.Kind == scheduler.Ban && a.Link == id {
			return true
		}
	}
	return false
}

func (d *download) find(id scheduler.ChunkID) *transfer {
	for _, t := range d.transfers {
		if t.chunk == id {
			return t
		}
	}
	return nil
}

// launch sends a transfer's request.
func (d *download) launch(reqs context.Context, t *transfer) {
	ctx, cancel := context.WithCancelCause(reqs)
	t.cancel = cancel
	t.client = d.e.routes[t.link].client(t.stream)
	t.sent = d.e.now()
	t.progress = t.sent
	d.transfers = append(d.transfers, t)
	d.e.cfg.Bus.Publish(event.RequestStarted{
		At: t.sent, File: d.job.ID, Link: t.link, Chunk: t.chunk, Off: t.off, End: t.end.Load(),
	})
	go d.e.run(ctx, t, d.links[t.link].url, d.to, d.tell)
}
