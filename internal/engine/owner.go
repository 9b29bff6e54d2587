package engine

import (
	"context"
	"sync"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// owner is the state of the goroutine that owns a scheduler: its links and the requests in flight,
// whether they are for one object or for many.
type owner struct {
	e    *Engine
	file event.FileID // what the scheduler's steps are about
	work work
	driver

	links     []linkState
	transfers []*transfer
	messages  chan message
	waker     *waker // rung by transfers when bytes come
	// background brings what the owner has to do after other goroutines have ended, such as those
	// that write journals.
	background chan func()

	singleStream bool  // the object is read by one request, without the scheduler
	complete     bool  // every byte has been received
	err          error // the first that ends the download or the batch

	looks  looks
	useful usefulBytes
	power  powerRead
	early  earlyConns
}

// driver is what drives the scheduler.
type driver struct {
	core    *scheduler.Core
	actions []scheduler.Action // scratch
	probes  scheduler.ChunkID  // requests made so far of which the scheduler knows nothing
}

// looks is when the owner last did what it does now and then.
type looks struct {
	connections scheduler.Time
	stalls      scheduler.Time // see slept
	reading     []int          // how many connections of each link were being read; see gatherAll
}

// usefulBytes is how many bytes have been received, and how many of them were set off against
// requests that brought next to nothing (fruitless.go).
type usefulBytes struct{ total, counted int64 }

// powerRead is what the device had spent when the scheduler was last told its power.
type powerRead struct {
	last  Spent
	known bool
}

// earlyConns are the connections that are made before there are requests for them.
type earlyConns struct {
	making   *sync.WaitGroup // their goroutines
	disabled bool            // over HTTP/2 the requests for many files share connections: none are made early
}

// work is what is downloaded: one object (download) or many (batch). Its methods are called from the
// owner's goroutine.
type work interface {
	// address says what a new transfer asks for, which begins at an address of the scheduler.
	address(t *transfer, at int64)
	// respond answers the response in m, at once or later.
	respond(reqs context.Context, m message)
	// diagnose says what it means that a transfer ended with err.
	diagnose(reqs context.Context, t *transfer, err error) diagnosis
	// conclude does what follows from that, after it was published, and before the scheduler is told.
	conclude(reqs context.Context, t *transfer, finished bool, end diagnosis)
	// wantsAnswer says whether the answer to a request that is withdrawn is still of interest.
	wantsAnswer(t *transfer) bool
	// linkMoved says that a link's connections lead to another network now.
	linkMoved(id scheduler.LinkID)
}

// newOwner makes an owner that knows the links. schedule gives it a scheduler.
func newOwner(e *Engine, file event.FileID) owner {
	o := owner{
		e: e, file: file,
		links:    make([]linkState, len(e.links)),
		messages: make(chan message, 4*len(e.links)),
		waker:    newWaker(), background: make(chan func()),
		looks: looks{stalls: e.now(), reading: make([]int, len(e.links))},
		early: earlyConns{
			making:   new(sync.WaitGroup),
			disabled: file == event.Batch && e.cfg.HTTP.Protocol == fetch.HTTP2PriorKnowledge,
		},
	}
	for i := range o.links {
		l := &o.links[i]
		l.id = scheduler.LinkID(i)
		l.seen.returns, l.seen.arrivals = e.links[i].changes.returns.Load(), e.links[i].changes.arrivals.Load()
		l.there, l.responses.unlikely = l.seen.arrivals > e.batch.gone[i], e.batch.unlikely.has(scheduler.LinkID(i))
		e.routes[i].closeIfMoved(&e.cfg.HTTP)
	}
	return o
}

// schedule makes the scheduler. Links, the policy and what else the Engine's
// configuration says of it are filled in.
func (o *owner) schedule(cfg scheduler.Config) error {
	e := o.e
	policy, err := e.cfg.policy()
	if err != nil {
		return err
	}
	cfg.Links, cfg.Policy = len(e.links), policy
	cfg.Overlap, cfg.NoSteal, cfg.NoFailover = e.cfg.Overlap, e.cfg.NoSteal, e.cfg.NoFailover
	cfg.Limited = e.cfg.LimitRate != nil || e.cfg.Overall != nil
	cfg.Energy, cfg.Offload, cfg.Deadline = e.cfg.Energy, e.cfg.Offload, e.cfg.Deadline
	if o.core, err = scheduler.New(cfg); err != nil {
		return err
	}
	if e.cfg.Record {
		e.cfg.Bus.Publish(event.SchedulerStarted{
			At: e.now(), File: o.file, Algorithm: e.cfg.Algorithm, StaticLimit: e.cfg.StaticLimit, Padding: e.cfg.Padding,
			Links: cfg.Links, Size: cfg.Size, Have: cfg.Have, Overlap: cfg.Overlap, Window: cfg.Window,
			NoSteal: cfg.NoSteal, NoFailover: cfg.NoFailover, Parallelism: cfg.Parallelism,
			Energy: cfg.Energy, Offload: cfg.Offload, Deadline: cfg.Deadline, Batch: cfg.Batch, TLS: cfg.TLS, Limited: cfg.Limited,
		})
	}
	return nil
}

// linksUp tells the scheduler of the links that are there at the beginning.
func (o *owner) linksUp(reqs context.Context) {
	for id := range o.links {
		if o.links[id].there && !o.links[id].lost() {
			o.linkUp(reqs, scheduler.LinkID(id))
		}
	}
	o.noteSpent() // by other downloads, before it is asked for anything
	o.tellSpent(reqs)
}

// update takes in changes of the links, tells the scheduler what has been received, and lets it
// decide.
func (o *owner) update(reqs context.Context, now scheduler.Time) {
	o.lookAtConnections(now)
	o.lookForReturns(reqs)
	o.noteSpent()
	for _, t := range o.transfers {
		o.count(reqs, t)
	}
	o.tellShared(reqs, now)
	o.tellSpent(reqs)
	o.tellPower(reqs)
	o.step(reqs, scheduler.Input{Kind: scheduler.Tick})
	o.gatherAll(now)
	o.closeUnused(now)
}

// powerEvery is how often the scheduler is told the power at most.
const powerEvery = 200 * scheduler.Millisecond

// tellPower tells the scheduler what power the device draws, where that is measured and the scheduler
// decides by it. Progress is told before: the bytes belong to the energy that was spent.
func (o *owner) tellPower(reqs context.Context) {
	if o.e.cfg.Energy != scheduler.EnergyMin {
		return
	}
	now, ok := o.e.spent()
	before, known := o.power.last, o.power.known
	over := now.Until - before.Until
	switch {
	case !ok:
		o.power.known = false
		return
	case known && over >= 0 && over < powerEvery:
		return
	}
	o.power.last, o.power.known = now, true
	if known && over > 0 && now.Joules >= before.Joules && now.Source == before.Source {
		o.step(reqs, scheduler.Input{Kind: scheduler.Power, Watts: (now.Joules - before.Joules) / over.Seconds(), Wait: over})
	}
}

// hear takes a message from a transfer.
func (o *owner) hear(reqs context.Context, m message) {
	if m.resp == nil {
		o.ended(reqs, m)
		return
	}
	o.links[m.t.link].responses.answered, o.links[m.t.link].responses.unlikely = true, false
	o.e.load.over[m.t.link].response.Store(int64(o.e.now()))
	o.early.disabled = o.early.disabled || m.resp.Proto == "2"
	o.work.respond(reqs, m)
}

// measure takes what a response tells of its link's round trip.
func (o *owner) measure(reqs context.Context, t *transfer, resp *fetch.Response) {
	rtt := o.e.links[t.link].leastRTT(resp.Conn())
	o.waker.chooseTimer(resp.Conn())
	o.step(reqs, scheduler.Input{
		Kind: scheduler.Progress, Link: t.link, Chunk: t.chunk, Bytes: t.reported, RTT: rtt, Single: resp.Single, Lasting: resp.Proto == "2", Answered: true,
	})
}

// fail records the first error that ends it all.
func (o *owner) fail(err error) {
	if err != nil && o.err == nil {
		o.err = err
	}
}
