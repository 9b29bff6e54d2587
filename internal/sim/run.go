package sim

import (
	"fmt"
	"slices"

	"github.com/mlget/mlget/pkg/scheduler"
)

// What the engine does by default: how long its owner sleeps at most, how long a
// request may be silent, how often in a row, and how long it waits after that.
const (
	idleWake     = 250 * scheduler.Millisecond
	leastWake    = 50 * scheduler.Microsecond
	stallTimeout = 30 * scheduler.Second
	tries        = 20
	backoffFirst = 250 * scheduler.Millisecond
	backoffMost  = 10 * scheduler.Second
	settleTime   = 100 * scheduler.Millisecond // from the coming of a device to its use
)

// run is a download in progress. It takes the engine's place around the
// scheduler: same inputs, same order.
type run struct {
	cfg       Config
	core      *scheduler.Core
	links     []link
	transfers []*request // in the order in which they were started
	now       scheduler.Time
	looked    scheduler.Time // when it last looked around
	sized     bool
	believed  bool // what links were told of where the object ends
	complete  bool
	actions   []scheduler.Action
	todo      []*request // scratch of look
	steps     int
	consumer  consumer
	batch     *batch // nil: a single file
}

func newRun(cfg Config) (*run, error) {
	policy, err := cfg.policy()
	if err != nil {
		return nil, err
	}
	r := &run{cfg: cfg, links: make([]link, len(cfg.Scenario.Links)), consumer: consumer{perSecond: cfg.Consume}}
	if r.core, err = scheduler.New(cfg.scheduler(policy)); err != nil {
		return nil, err
	}
	for i := range r.links {
		r.links[i] = newLink(&cfg, i)
	}
	if cfg.Batch != nil {
		r.batch, err = newBatch(cfg.Batch, len(r.links))
	}
	return r, err
}

// scheduler is the configuration of the run's scheduler: what a replay needs.
func (c *Config) scheduler(policy scheduler.Policy) scheduler.Config {
	return scheduler.Config{
		Links: len(c.Scenario.Links), Policy: policy, Size: -1,
		Overlap: c.Overlap, Parallelism: c.Parallelism, NoSteal: c.NoSteal, NoFailover: c.NoFailover,
		Window: c.Window, Energy: c.Energy, Offload: c.Offload, Deadline: scheduler.FromSeconds(c.Deadline), Batch: c.Batch != nil, TLS: c.TLSTrips > 0,
	}
}

// loop runs until the object is complete.
func (r *run) loop(limit scheduler.Time) error {
	for i := range r.links {
		r.links[i].apply(0)
		if !r.links[i].state.Gone() {
			r.linkUp(i)
		}
	}
	r.begin()
	r.step(scheduler.Input{Kind: scheduler.Tick})
	for !r.complete {
		wake := max(min(r.core.NextWake(), r.looked+idleWake), r.looked+leastWake)
		if r.batch != nil {
			wake = max(min(wake, r.batch.due), r.now)
		}
		next := wake
		for i := range r.links {
			next = min(next, r.links[i].plan(r.now))
		}
		next = max(next, r.now)
		if next > limit || r.allLost() {
			return fmt.Errorf("%w: %d bytes are missing after %.0f s", ErrNever, r.core.Left(), r.now.Seconds())
		}
		for i := range r.links {
			r.links[i].advance(r.now, next)
		}
		r.now = next
		for i := range r.links {
			r.links[i].apply(next)
			r.arrive(i)
		}
		r.settleAll()
		if next >= wake && !r.complete {
			r.look()
		}
	}
	return nil
}

func (r *run) linkUp(i int) {
	in := scheduler.Input{Kind: scheduler.LinkUp, Link: scheduler.LinkID(i)}
	if i < len(r.cfg.Bandwidths) {
		in.Bandwidth = r.cfg.Bandwidths[i]
	}
	if i < len(r.cfg.Terms) {
		in.Terms = r.cfg.Terms[i]
	}
	r.step(in)
}

// arrive lets a link take part whose device has come, or come back.
func (r *run) arrive(i int) {
	l := &r.links[i]
	if l.joinAt > r.now {
		return
	}
	r.step(scheduler.Input{Kind: scheduler.LinkDown, Link: l.id}) // which withdraws its requests
	l.arrive(r.now)
	r.linkUp(i)
	r.step(scheduler.Input{Kind: scheduler.Tick})
}

func (r *run) allLost() bool {
	return !slices.ContainsFunc(r.links, func(l link) bool { return !l.lost })
}

// settleAll deals with all requests that have reached their targets.
func (r *run) settleAll() {
	for more := true; more && !r.complete; {
		more = r.settleOne()
	}
}

// settleOne deals with one request that has reached its target; false when there
// is none.
func (r *run) settleOne() bool {
	for i := range r.links {
		l := &r.links[i]
		for _, c := range l.conns {
			for k, q := range c.queue {
				if k > 0 && !l.http2 {
					break
				}
				if q.avail <= r.now && q.reached() {
					r.settle(l, c, q)
					return true
				}
			}
		}
	}
	return false
}

func (r *run) settle(l *link, c *conn, q *request) {
	switch {
	case q.chunk == scheduler.NoChunk:
		l.count.WastedBytes += q.wanted
		l.remove(c, q)
		l.resume(r.now)
	case q.dropped:
		l.count.WastedBytes += max(0, int64(q.done)-headerBytes)
		l.leave(r.now, c, q)
	case !q.answered && r.batch == nil && !r.sized && q.asked == 0:
		r.forget(q)
		l.leave(r.now, c, q)
		if l.told = true; r.confirmed(q.link) {
			r.unpark(0)
		}
		r.step(scheduler.Input{Kind: scheduler.Beyond, Link: q.link, Chunk: q.chunk, Bytes: r.cfg.Size, RTT: l.rtt})
		r.look()
	case !q.answered && !r.sized && !r.believed && l.told && r.cfg.TLSTrips == 0 && !r.confirmed(q.link):
		q.parked = r.now
	case !q.answered:
		q.answered = true
		l.shorten(r.now, q)
		r.answer(q)
	default:
		r.forget(q)
		l.failures = 0
		got := max(q.wanted, int64(q.done-headerBytes+tiny))
		l.count.Bytes += q.wanted
		r.got(q, q.wanted)
		l.count.WastedBytes += got - q.wanted
		l.count.FinishedSeconds = r.now.Seconds()
		l.leave(r.now, c, q)
		r.step(scheduler.Input{Kind: scheduler.Finished, Link: q.link, Chunk: q.chunk, Bytes: got})
		r.look()
	}
}

// answer is the engine's judgement on a response: its first tells the size.
func (r *run) answer(q *request) {
	r.step(scheduler.Input{Kind: scheduler.Progress, Link: q.link, Chunk: q.chunk, RTT: r.links[q.link].rtt, Lasting: r.links[q.link].http2, Answered: true, Single: r.cfg.Single})
	if r.batch != nil {
		r.size(q)
	} else if !r.sized {
		r.sized = true
		r.unpark(0)
		r.step(scheduler.Input{Kind: scheduler.Sized, Bytes: r.cfg.Size})
	}
	r.look()
}

// confirmed says whether another link was told where the object ends, too.
func (r *run) confirmed(id scheduler.LinkID) bool {
	return slices.ContainsFunc(r.links, func(l link) bool { return l.id != id && l.told })
}

// unpark has responses read that have waited for so long.
func (r *run) unpark(wait scheduler.Time) {
	for _, q := range r.transfers {
		if q.parked > 0 && r.now-q.parked >= wait {
			q.parked = 0
			r.believed = true
		}
	}
}

// look tells the scheduler what has been received since last time, and lets it
// think.
func (r *run) look() {
	r.looked = r.now
	r.unpark(parkTime)
	r.todo = append(r.todo[:0], r.transfers...)
	for _, q := range r.todo {
		got, l, trip := q.got(), &r.links[q.link], scheduler.Time(0)
		if r.core.Link(q.link).RTT == 0 && l.connected(r.now) {
			trip = l.rtt
		}
		if q.over {
			continue
		}
		shook := l.shook(r.now)
		if got == q.told && trip == 0 && shook == 0 {
			continue
		}
		if got != q.told {
			q.told, q.progress = got, r.now
			l.lastHeard, l.failures = r.now, 0
		}
		r.step(scheduler.Input{
			Kind: scheduler.Progress, Link: q.link, Chunk: q.chunk, Bytes: got, RTT: trip, Reordered: int64(l.disorder), Shook: shook,
			Trip: r.dataTrip(l),
		})
	}
	if !r.complete {
		r.spent()
		r.consume()
	}
	if r.complete {
		return
	}
	r.supplied()
	r.step(scheduler.Input{Kind: scheduler.Tick})
	r.todo = append(r.todo[:0], r.transfers...)
	for _, q := range r.todo {
		if r.now-max(q.progress, r.links[q.link].lastHeard) > stallTimeout && !q.over {
			r.stalled(q)
		}
	}
}

// dataTrip is what a round trip takes the data that comes over a link; 0: not known.
func (r *run) dataTrip(l *link) scheduler.Time {
	if r.cfg.Batch != nil {
		return 0 // many connections come in bursts, of which the model knows nothing
	}
	return l.rtt + l.standing()
}

// spent tells the scheduler what links with a cap have received.
func (r *run) spent() {
	for i := range r.links {
		if i >= len(r.cfg.Terms) || r.cfg.Terms[i].Cap == 0 {
			continue
		}
		bytes := r.links[i].count.Bytes + r.links[i].count.WastedBytes
		for _, q := range r.transfers {
			if int(q.link) == i {
				bytes += q.told
			}
		}
		r.step(scheduler.Input{Kind: scheduler.Spent, Link: scheduler.LinkID(i), Bytes: bytes})
	}
}

// stalled gives up a request that has been silent for too long.
func (r *run) stalled(q *request) {
	l := &r.links[q.link]
	r.forget(q)
	kept := q.told
	if q.copy {
		kept = 0
	}
	l.keep(q, kept)
	r.got(q, kept)
	l.withdraw(r.now, q, true)
	if q.sent >= l.failed { // else it fails with those that were counted already
		l.failed = r.now
		l.failures++
	}
	if l.failures >= tries {
		l.lost = true
		r.step(scheduler.Input{Kind: scheduler.LinkDown, Link: q.link})
		return
	}
	wait := min(backoffMost, backoffFirst<<min(l.failures-1, 10))
	r.step(scheduler.Input{Kind: scheduler.Failed, Link: q.link, Chunk: q.chunk, Bytes: q.told, Wait: wait})
}

// keep counts what a request that is given up has brought, of which so many bytes
// are of use.
func (l *link) keep(q *request, useful int64) {
	l.count.Bytes += useful
	l.count.WastedBytes += max(0, int64(q.done)-headerBytes-useful)
	if useful > 0 {
		l.count.FinishedSeconds = max(l.count.FinishedSeconds, q.progress.Seconds())
	}
}

func (r *run) forget(q *request) {
	q.over = true
	r.transfers = slices.DeleteFunc(r.transfers, func(o *request) bool { return o == q })
}

// step gives the scheduler an input and carries out its actions.
func (r *run) step(in scheduler.Input) {
	r.actions = r.core.Step(r.now, in, r.actions[:0])
	r.steps++
	if r.cfg.Observer != nil {
		r.cfg.Observer.Step(r.now, &in, r.actions, r.core.NextWake())
	}
	for _, a := range r.actions {
		switch a.Kind {
		case scheduler.Start:
			r.start(a)
		case scheduler.Shrink:
			if q := r.find(a.Chunk); q != nil {
				q.wanted = a.Range.Len()
				q.spent = q.spent || a.Close
				r.links[q.link].shorten(r.now, q)
			}
		case scheduler.Cancel:
			if q := r.find(a.Chunk); q != nil {
				l := &r.links[q.link]
				r.forget(q)
				l.keep(q, a.Range.Len())
				r.got(q, a.Range.Len())
				l.withdraw(r.now, q, r.banning(a.Link))
			}
		case scheduler.Ban:
			r.links[a.Link].count.Bans++
		case scheduler.Complete:
			r.complete = true
		case scheduler.Rest, scheduler.Wake:
			r.links[a.Link].count.Reason = a.Text()
		case scheduler.Open:
			if l := &r.links[a.Link]; r.batch == nil || !l.http2 { // there, requests for files go side by side
				l.open(r.now, a.Stream)
			}
		case scheduler.Unban, scheduler.Flush: // servers here hold nothing back
		}
	}
}

// banning says whether the actions being carried out ban a link.
func (r *run) banning(id scheduler.LinkID) bool {
	return slices.ContainsFunc(r.actions, func(a scheduler.Action) bool { return a.Kind == scheduler.Ban && a.Link == id })
}

func (r *run) start(a scheduler.Action) {
	l := &r.links[a.Link]
	q := &request{
		chunk: a.Chunk, link: a.Link, stream: a.Stream, progress: r.now, wanted: a.Range.Len(), copy: a.Copy,
		asked: max(0, min(a.Range.End, r.cfg.Size)-a.Range.Off),
	}
	if r.batch != nil {
		r.batch.place(q, a.Range)
	}
	r.transfers = append(r.transfers, q)
	l.count.Requests++
	if l.meter != nil && !l.down() {
		l.meter.send(r.now, len(l.conns))
	}
	l.send(r.now, q)
}

func (r *run) find(id scheduler.ChunkID) *request {
	for _, q := range r.transfers {
		if q.chunk == id {
			return q
		}
	}
	return nil
}
