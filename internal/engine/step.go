package engine

import (
	"context"
	"net/url"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// step gives the scheduler an input and carries out its actions.
func (o *owner) step(reqs context.Context, in scheduler.Input) {
	if o.singleStream {
		return // there is nothing left to schedule
	}
	now := o.e.now()
	o.actions = o.core.Step(now, in, o.actions[:0])
	if o.e.cfg.Record {
		o.e.cfg.Bus.Publish(event.Step{At: now, File: o.file, Input: in, Actions: append([]scheduler.Action(nil), o.actions...)})
	}
	for _, a := range o.actions {
		o.act(reqs, a)
	}
}

func (o *owner) act(reqs context.Context, a scheduler.Action) {
	switch a.Kind {
	case scheduler.Start:
		if o.err == nil {
			t := &transfer{request: request{chunk: a.Chunk, link: a.Link, stream: a.Stream, duplicate: a.Copy, fileID: o.file}}
			o.work.address(t, a.Range.Off)
			t.off = a.Range.Off - t.base
			t.end.Store(a.Range.End - t.base)
			o.launch(reqs, t)
		}
	case scheduler.Shrink:
		if t := o.find(a.Chunk); t != nil {
			t.shorten(a.Range.End - t.base)
			if a.Close {
				t.lastOfConn.Store(true)
			}
		}
	case scheduler.Cancel:
		if t := o.find(a.Chunk); t != nil {
			t.released, t.useful = true, a.Range.Len()
			cause := errReleased // the others close its connection as well
			switch {
			case o.banning(a.Link):
				cause = fetch.ErrStalled
			case o.work.wantsAnswer(t):
				return
			case a.Close:
				cause = fetch.ErrSpent
			}
			t.cancel(cause)
		}
	case scheduler.Ban:
		o.links[a.Link].use.banned = true
		o.changed(a.Link, event.LinkBanned, "too slow or silent")
	case scheduler.Unban:
		o.links[a.Link].use.banned = false
		o.changed(a.Link, event.LinkUsed, "it answers again")
	case scheduler.Complete:
		o.complete = true
	case scheduler.Rest, scheduler.Wake:
		o.rest(a)
	case scheduler.Open:
		o.open(reqs, a)
	case scheduler.Flush:
		o.flush(reqs, a)
	}
}

// tellShort tells the scheduler of a response that ends before its range, though the object does not:
// the server serves no more at once.
func (o *owner) tellShort(reqs context.Context, t *transfer) {
	if end := t.resp.End; !t.resp.Whole && end < t.end.Load() {
		o.step(reqs, scheduler.Input{Kind: scheduler.Short, Link: t.link, Chunk: t.chunk, Bytes: end - t.off})
	}
}

// banning says whether the actions being carried out ban a link.
func (o *owner) banning(id scheduler.LinkID) bool {
	for _, a := range o.actions {
		if a.Kind == scheduler.Ban && a.Link == id {
			return true
		}
	}
	return false
}

// flush has the server send all that is in flight on a connection.
func (o *owner) flush(reqs context.Context, a scheduler.Action) {
	for i := len(o.transfers) - 1; i >= 0; i-- {
		if t := o.transfers[i]; t.link == a.Link && t.stream == a.Stream && !t.single {
			t.client.Flush(reqs, t.url)
			return
		}
	}
}

func (o *owner) find(id scheduler.ChunkID) *transfer {
	for _, t := range o.transfers {
		if t.chunk == id {
			return t
		}
	}
	return nil
}

// firstProbe is the first chunk id of probes, above the scheduler's own and below firstSingle.
const firstProbe = scheduler.ChunkID(1) << 29

// newProbe is a request over a link that is not the scheduler's: to compare bytes, or to ask for a size.
func (o *owner) newProbe(id scheduler.LinkID, file event.FileID, u *url.URL) *transfer {
	t := &transfer{request: request{
		chunk: firstProbe + o.probes, link: id, stream: scheduler.MaxStreams - 1, fileID: file, url: u, probe: true,
	}}
	o.probes++
	return t
}

// launch sends a transfer's request.
func (o *owner) launch(reqs context.Context, t *transfer) {
	ctx, cancel := context.WithCancelCause(reqs)
	t.cancel, t.waker = cancel, o.waker
	t.client = o.e.routes[t.link].client(t.stream)
	o.links[t.link].conns.opened &^= 1 << t.stream
	o.links[t.link].responses.asked = true
	t.turn = t.client.Turn(t.url)
	t.sent = o.e.now()
	t.progress = t.sent
	o.transfers = append(o.transfers, t)
	t.endedBefore = o.e.load.begin(t.url, t.link)
	o.e.cfg.Bus.Publish(event.RequestStarted{
		At: t.sent, File: t.fileID, Link: t.link, Chunk: t.chunk, Off: t.off, End: t.end.Load(),
	})
	go o.e.run(ctx, t, o.messages)
}
