// Package scheduler decides which link asks for which bytes of an object.
//
// It is pure: it knows no clock, no socket and no goroutine. Whoever drives it,
// an engine over real links or a simulator in virtual time, reports what
// happened as Inputs, each with its time, and carries out the Actions that come
// back. The same inputs give the same actions, on every machine, so that a
// recorded run can be replayed.
//
// A Core is not safe for concurrent use: one goroutine owns it.
package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Config is what a Core must know beforehand. The zero value of a field is its
// default.
type Config struct {
	Links  int     // how many links there are; each is down until its LinkUp
	Policy Policy  // who says how much; it serves this Core alone
	Size   int64   // the object's size in bytes; -1 until Sized tells it
	Have   []Range // what is there already: sorted and disjoint

	// First is the size in bytes of each link's first request while the
	// object's size is unknown: the k-th link asks for the k-th piece of it,
	// so that every link's first request is probe and data together.
	// Default 1 MiB.
	First int64
	// Overlap is the fraction of a request after which the link's next one is
	// sent (skjolden, 4.2.2: 0.6). 0 means just in time: when what is left
	// will last for no longer than the round trip of the next one.
	Overlap float64
	// Parallelism is how many streams, connections of its own each, a link
	// has; 0 means one, and more where packets are lost and more streams are
	// seen to carry more.
	Parallelism int
	// Window bounds how many bytes ahead of the last Drained may be asked
	// for; 0: no bound.
	Window int64
	// NoSteal and NoFailover switch off what goes beyond the thesis's
	// algorithms: the taking over of a slow link's tail, and the release of a
	// link that is silent or slow.
	NoSteal    bool
	NoFailover bool

	// Energy decides whether links are left idle for the sake of energy.
	Energy EnergyMode
	// Batch says that the bytes belong to many files, of which Added tells (see
	// Piece); Size and Have have no meaning then. The run is complete when every
	// byte was received or voided and none is Expected.
	Batch bool

	// Deadline is when the run should be over: EnergyMin then looks for the
	// cheapest way that meets it, and EnergyEMTCP spares a costly link only as
	// far as it allows. 0: there is none.
	Deadline Time
}

const (
	defaultFirst = int64(1) << 20
	// leastRequest is the size in bytes below which a request is not worth
	// its round trip (ALGORITHMS, Tail: ~16 KB).
	leastRequest = int64(16) << 10
	// maxQueued bounds the requests in flight on a stream.
	maxQueued = 8
)

// Validate says what is wrong with the configuration.
func (c *Config) Validate() error {
	switch {
	case c.Links < 1:
		return errors.New("a run needs at least one link")
	case c.Policy == nil:
		return errors.New("a run needs a policy")
	case c.Overlap < 0 || c.Overlap >= 1:
		return fmt.Errorf("the overlap %v is not within 0 to 1", c.Overlap)
	case c.Parallelism < 0 || c.Parallelism > MaxStreams:
		return fmt.Errorf("a link cannot have %d streams, at most %d", c.Parallelism, MaxStreams)
	case c.First < 0 || c.Window < 0:
		return errors.New("a size is negative")
	case c.Energy > EnergyMin:
		return fmt.Errorf("there is no energy mode %d", c.Energy)
	case c.Deadline < 0:
		return errors.New("the deadline lies before the beginning")
	case c.Batch && (c.Window > 0 || len(c.Have) > 0):
		return errors.New("a batch has neither a window nor ranges from before")
	}
	at := int64(0)
	for _, r := range c.Have {
		if r.Off < at || r.Empty() || c.Size >= 0 && r.End > c.Size {
			return fmt.Errorf("the range %v does not follow %d within %d bytes", r, at, c.Size)
		}
		at = r.End
	}
	return nil
}

func (c *Config) minRequest() int64 {
	if c.Window > 0 {
		return min(leastRequest, max(1, c.Window/4))
	}
	return leastRequest
}

// firstStreams is how many streams a link begins with.
func (c *Config) firstStreams() StreamID {
	if c.Batch && c.Parallelism == 0 {
		return batchStreams
	}
	return StreamID(max(1, c.Parallelism))
}

// chunk is one request in flight: it has received got bytes of its range.
type chunk struct {
	id     ChunkID
	link   LinkID
	stream StreamID
	rng    Range
	got    int64
	seen   int64 // bytes received, those beyond its end included
	issued Time
	twin   ChunkID // fetches the same bytes, up to the same end; NoChunk: none does
	copy   bool    // and was begun after it: what it is asked for is not counted

	// Of a batch: the file's place among those in progress, its class, the piece as
	// it was Added, whether the file's size is still unknown, and how many of the
	// bytes asked for are not likely to exist.
	slot  int32
	class Class
	guess bool
	piece Range
	over  int64
}

func (c *chunk) left() int64 { return c.rng.Len() - c.got }

type link struct {
	up        bool
	banned    bool
	probing   bool // a banned link's small request is under way
	bans      int  // in a row
	notBefore Time // end of a ban, or of the wait after a failure
	rtt       Time
	est       estimator
	asked     bool  // it has been given work since it came up
	requests  int   // in flight
	pending   int64 // bytes asked for and not received
	over      int64 // of these, are not likely to exist
	assigned  int64 // bytes received or asked for, in all
	received  int64 // bytes received, in all
	lastByte  Time  // when the last byte came, or the link began to wait for one
	robbed    int   // how often its requests were taken over before they were answered
	streams   streams
	speeds    *speeds // of a batch
	slowSince Time    // since when its rate is below the static limit; Never: it is not
	terms     Terms
	duty      duty
	pace      pace
}

// Core is a run's scheduler: the ledger of what is missing, and what each link
// is doing about it.
type Core struct {
	cfg      Config
	ledger   ledger
	batch    *batch  // nil: one file
	had      int64   // bytes that were there at the beginning
	chunks   []chunk // in the order of their ids; a part of space
	space    []chunk
	links    []link
	nextID   ChunkID
	now      Time
	looked   Time // when the last Tick was
	drained  int64
	copied   int64 // bytes asked for twice
	complete bool
	rations  rations
}

// New makes a Core.
func New(cfg Config) (*Core, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.First == 0 {
		cfg.First = defaultFirst
	}
	c := &Core{
		cfg:    cfg,
		ledger: newLedger(cfg.Size, cfg.Have),
		space:  make([]chunk, 0, (maxQueued+MaxStreams)*cfg.Links),
		links:  make([]link, cfg.Links),
	}
	c.chunks = c.space
	for _, r := range cfg.Have {
		c.had += r.Len()
	}
	for i := range c.links {
		c.links[i].slowSince = Never
		c.links[i].duty.trouble = Never
		c.links[i].streams = streams{most: cfg.firstStreams(), batch: cfg.Batch}
		if cfg.Batch {
			c.links[i].speeds = &speeds{}
		}
	}
	if cfg.Batch {
		c.batch, c.ledger = newBatch(cfg.Links), newLedger(0, nil)
	}
	return c, nil
}

func (c *Core) sized() bool {
	if c.batch != nil {
		return c.batch.stock.told
	}
	return c.ledger.size != unsized
}

// total is how many bytes there are to fetch in all, as far as one knows.
func (c *Core) total() int64 {
	if c.batch != nil {
		return c.batch.received + c.left()
	}
	return c.ledger.size - c.had
}

// left is how many bytes have not been received.
func (c *Core) left() int64 {
	n := c.free()
	for i := range c.links {
		n += c.links[i].owed()
	}
	return n
}

// free is how many bytes nobody was asked for, those that are still to be Added
// included.
func (c *Core) free() int64 {
	if c.batch != nil {
		return c.batch.stock.bytes() + c.batch.stock.more()
	}
	return c.ledger.bytes()
}

// owed is how many bytes the link was asked for and has not received.
func (l *link) owed() int64 { return l.pending - l.over }

// owe notes that a link's stream has been asked for so many bytes more.
func (c *Core) owe(id LinkID, stream StreamID, bytes int64) {
	c.links[id].pending += bytes
	if c.batch != nil {
		c.batch.tables[id].streams[stream].pending += bytes
	}
}

// Left is how many bytes have not been received; meaningless while the size is
// unknown.
func (c *Core) Left() int64 { return c.left() }

// Size is the object's size in bytes, -1 while it is unknown; of a batch, how many
// bytes there are as far as one knows, -1 until the first Expected.
func (c *Core) Size() int64 {
	switch {
	case !c.sized():
		return -1
	case c.batch != nil:
		return c.total()
	}
	return c.ledger.size
}

// Rate is the link's present throughput in bytes per second; 0 while unknown.
func (c *Core) Rate(l LinkID) float64 { return c.links[l].est.rate }

// Bandwidth is the most that the link has shown of late, in bytes per second; 0
// while unknown.
func (c *Core) Bandwidth(l LinkID) float64 { return c.links[l].est.capacity() }

// RTT is the least round-trip time of the link; 0 while unknown.
func (c *Core) RTT(l LinkID) Time { return c.links[l].rtt }

// Streams is how many connections the link is worth at present.
func (c *Core) Streams(l LinkID) int { return int(c.links[l].streams.most) }

// Requests is how many requests the link has in flight.
func (c *Core) Requests(l LinkID) int { return c.links[l].requests }

// Done appends the ranges that have been received to dst, sorted and joined. Of a
// batch nobody keeps account of them: see Missing.
func (c *Core) Done(dst []Range) []Range {
	if c.batch != nil {
		return dst
	}
	missing := make([]Range, 0, len(c.ledger.free)+len(c.chunks))
	missing = append(missing, c.ledger.free...)
	for i := range c.chunks {
		if ch := &c.chunks[i]; ch.left() > 0 && !ch.copy {
			missing = append(missing, Range{ch.rng.Off + ch.got, ch.rng.End})
		}
	}
	sortRanges(missing)
	at := int64(0)
	for _, m := range missing {
		if m.Off > at {
			dst = append(dst, Range{at, m.Off})
		}
		at = m.End
	}
	if at < c.ledger.size {
		dst = append(dst, Range{at, c.ledger.size})
	}
	return dst
}

func sortRanges(r []Range) {
	slices.SortFunc(r, func(a, b Range) int { return cmp.Compare(a.Off, b.Off) })
}

// Step takes an input that happened at now, and appends to out what is to be
// done. A LinkUp and a Progress are only booked, and so is what is told of pieces
// and plans: they take effect with the input that follows, so that links that come
// up together start together, and nothing is decided before all progress has been
// told. In a batch Finished and Failed are booked as well. Time never runs backwards; an
// input about a chunk that has ended, or a link that does not exist, is ignored.
func (c *Core) Step(now Time, in Input, out []Action) []Action {
	c.now = max(c.now, now)
	switch in.Kind {
	case Sized:
		if c.batch == nil {
			out = c.resize(in.Bytes, out)
		}
	case Drained:
		c.drained = max(c.drained, in.Bytes)
	case Progress, Finished, Failed:
		if i := c.find(in.Chunk); i >= 0 {
			out = c.received(i, in, out)
		}
	case LinkUp, LinkDown:
		if in.Link >= 0 && int(in.Link) < len(c.links) {
			out = c.upDown(in, out)
		}
	case Spent:
		if in.Link >= 0 && int(in.Link) < len(c.links) {
			l := &c.links[in.Link]
			l.duty.spent = max(l.duty.spent, min(in.Bytes, unsized))
		}
	case Added, Voided, Expected, Planned:
		if c.batch != nil {
			out = c.lay(&in, out)
		}
	case Power, Tick: // time is all that matters here
	}
	if c.complete {
		return out
	}
	if in.Kind == Tick {
		c.measure()
		if !c.cfg.NoFailover {
			c.forgive()
			out = c.failover(out)
		}
	}
	if c.decides(in.Kind) {
		if c.rations.needed(&c.cfg) {
			out = c.ration(in.Kind, out)
		}
		out = c.assign(out)
	}
	if len(c.chunks) == 0 && c.exhausted() {
		c.complete = true
		out = append(out, Action{Kind: Complete})
	}
	return out
}

// decides says whether an input is acted upon at once. In a batch, what ends is only
// booked, too: where many requests end together, those that have ended but have not
// been told of would be taken for late.
func (c *Core) decides(k InputKind) bool {
	switch k {
	case LinkUp, Progress, Added, Voided, Expected, Planned:
		return false
	case Finished, Failed:
		if c.batch != nil {
			c.batch.booked = true
			return false
		}
	default:
	}
	return true
}

// measure takes the links' rates. It waits for a Tick, when every request's
// progress has been told: in between, a link whose own is still to come would be
// taken to have received nothing up to now, and what it did receive would count
// for the time after.
func (c *Core) measure() {
	if c.batch != nil {
		c.compare()
	}
	for i := range c.links {
		l := &c.links[i]
		if l.requests == 0 {
			continue
		}
		l.est.observe(c.now, l.received, l.rtt)
		l.pace.observe(c.now, l.rtt, l.received, l.est.nMarks > 0)
		if c.cfg.Parallelism == 0 && !c.planned(LinkID(i)) {
			l.streams.tune(c.now, l, c.left())
		}
	}
}

// exhausted says whether there is nothing left that could be asked for.
func (c *Core) exhausted() bool {
	if c.batch != nil {
		return c.batch.stock.last() && c.batch.stock.empty()
	}
	return c.sized() && len(c.ledger.free) == 0
}

// find gives the index of a chunk in flight, or -1. They stand in the order of
// their ids.
func (c *Core) find(id ChunkID) int {
	low, high := 0, len(c.chunks)
	for low < high {
		if mid := (low + high) / 2; c.chunks[mid].id < id {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low < len(c.chunks) && c.chunks[low].id == id {
		return low
	}
	return -1
}

// received books what chunk i has got, and ends it if it ended.
func (c *Core) received(i int, in Input, out []Action) []Action {
	ch := &c.chunks[i]
	l := &c.links[ch.link]
	if in.RTT > 0 && (l.rtt == 0 || in.RTT < l.rtt) {
		l.rtt = in.RTT
	}
	l.streams.loss.reordered = max(l.streams.loss.reordered, in.Reordered)
	// A shrunk chunk may report bytes beyond its new end: they are waste.
	got := min(max(in.Bytes, ch.got), ch.rng.Len())
	seen := max(ch.seen, min(in.Bytes, unsized))
	l.duty.spent = min(unsized, l.duty.spent+seen-ch.seen)
	ch.seen = seen
	if fresh := got - ch.got; fresh > 0 || in.Bytes > ch.got {
		ch.got = got
		if c.batch != nil {
			c.came(ch, fresh)
		}
		if !ch.copy {
			c.owe(ch.link, ch.stream, -fresh)
		}
		l.received += fresh
		l.lastByte = c.now
		l.duty.trouble = Never
		l.streams.hear(ch, fresh, c.now)
		l.robbed = 0
	}
	switch in.Kind {
	case Finished:
		if l.est.rate == 0 && c.now > ch.issued && ch.got >= initialWindow {
			// Over before it could be measured: its mean is better than nothing, unless
			// so little came that it tells of the round trip alone.
			l.est.rate = float64(ch.got) / (c.now - ch.issued).Seconds()
		}
		if l.probing && l.banned {
			out = c.unban(ch.link, out)
		}
		out = c.settle(ch, out)
		out = c.end(c.find(in.Chunk), out)
	case Failed:
		id := ch.link
		if c.needless(ch) {
			l.streams.refuse(ch.stream)
			return c.end(i, out)
		}
		out = c.end(i, out)
		l.notBefore = max(l.notBefore, c.now+in.Wait)
		l.duty.trouble = min(l.duty.trouble, c.now)
		if l.banned {
			out = c.ban(id, out) // the probe failed: wait longer
		}
	default: // a Progress does no more
	}
	return out
}

// end forgets chunk i; what it has not received is free again.
func (c *Core) end(i int, out []Action) []Action {
	ch := c.chunks[i]
	l := &c.links[ch.link]
	l.requests--
	if l.requests == 0 {
		l.probing = false
		l.est.idle(l.received)
		l.pace.pause()
	}
	c.drop(i)
	if !ch.copy {
		c.owe(ch.link, ch.stream, -ch.left())
		l.assigned -= ch.left()
		c.ledger.give(ch.rest())
	}
	if c.batch != nil {
		c.restore(&ch)
	}
	return c.part(&ch, out)
}

// drop takes the i-th chunk out. The old ones are the first to end: what is on the
// shorter side moves up.
func (c *Core) drop(i int) {
	if i >= len(c.chunks)/2 {
		c.chunks = slices.Delete(c.chunks, i, i+1)
		return
	}
	copy(c.chunks[1:], c.chunks[:i])
	c.chunks = c.chunks[1:]
}

// append adds a chunk, in the room that those have left that are gone.
func (c *Core) append(ch chunk) {
	if n := len(c.chunks); n == cap(c.chunks) {
		if 2*n > cap(c.space) {
			c.space = make([]chunk, 0, 4*n)
		}
		c.chunks = append(c.space[:0], c.chunks...)
	}
	c.chunks = append(c.chunks, ch)
}

// cancel is the action that withdraws a request. What it has received counts,
// unless another request has it too.
func cancel(ch *chunk) Action {
	r := Range{ch.rng.Off, ch.rng.Off + ch.got}
	if ch.copy {
		r.End = r.Off
	}
	return Action{Kind: Cancel, Link: ch.link, Chunk: ch.id, Range: r}
}

// release withdraws every request of a link.
func (c *Core) release(id LinkID, out []Action) []Action {
	for i := len(c.chunks) - 1; i >= 0; i-- {
		if c.chunks[i].link == id {
			out = append(out, cancel(&c.chunks[i]))
			out = c.end(i, out)
		}
	}
	return out
}

// forget drops what was learnt of a link that is gone: it may come back by
// another network.
func (l *link) forget(cfg *Config) {
	l.est.forget()
	l.asked, l.rtt, l.robbed = false, 0, 0
	l.pace = pace{}
	l.duty.trouble = Never
	l.streams = streams{most: cfg.firstStreams(), batch: cfg.Batch, loss: loss{reordered: l.streams.loss.reordered}}
	if cfg.Batch {
		*l.speeds = speeds{}
	}
}

func (c *Core) upDown(in Input, out []Action) []Action {
	l := &c.links[in.Link]
	if in.Kind == LinkDown {
		l.up = false
		out = c.release(in.Link, out)
		l.forget(&c.cfg)
		c.recall()
		return out
	}
	if in.Terms != (Terms{}) && in.Terms.Validate() == nil {
		l.terms = in.Terms
		c.rations.take(&in.Terms)
	}
	l.duty.trouble = Never
	if !l.up {
		l.up = true
		l.notBefore = c.now
	}
	if in.Bandwidth > 0 {
		l.est.known = in.Bandwidth
	}
	if in.RTT > 0 {
		l.rtt = in.RTT
	}
	if l.banned { // its interface says that it is back: no need to wait
		out = c.unban(in.Link, out)
	}
	return out
}

// resize learns the object's size, and withdraws what was asked for beyond it.
func (c *Core) resize(size int64, out []Action) []Action {
	if c.sized() || size < 0 {
		return out
	}
	for i := len(c.chunks) - 1; i >= 0; i-- {
		ch := &c.chunks[i]
		l := &c.links[ch.link]
		if ch.rng.End <= size {
			continue
		}
		cut := ch.rng.End - max(size, ch.rng.Off+ch.got)
		ch.rng.End -= cut
		l.pending -= cut
		l.assigned -= cut
		if ch.left() > 0 {
			out = append(out, Action{Kind: Shrink, Link: ch.link, Chunk: ch.id, Range: ch.rng})
			continue
		}
		out = append(out, cancel(ch))
		out = c.end(i, out)
	}
	c.ledger.resize(size)
	return out
}
