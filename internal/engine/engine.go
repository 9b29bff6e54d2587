// Package engine carries out what the scheduler decides: it makes the requests
// over the links, checks that all responses are of one object, stores the bytes,
// and publishes what happens.
//
// One goroutine, the caller of Download or DownloadAll, owns a scheduler and
// everything that belongs to it. Each request in flight is a transfer with a
// goroutine of its own, which blocks in reads and writes and counts its progress
// in atomics. It sends the owner two messages, when its response has come and when it
// has ended, and none per block. The owner reads the counters when the scheduler wants
// to be woken. When Download returns, no goroutine of it
// is left, except one that waits for the consumer of a stream to take bytes.
//
// An Engine runs one download, or one batch, at a time and keeps its connections
// between them; for several at once, make several over the same Links, whose methods
// may be called from any goroutine. A download that pins a link to an address
// (identity.go) undoes that at its end.
//
// All responses are compared with what is known of one object: at first what the journal
// says, then what every response has told that was taken. Where no validator shows that a
// response is of that object, its bytes have to (proof.go): they are compared with those of
// other responses, and not claimed before. In clear, the size that one link alone has told is
// believed only when another one agrees (trust.go), or none has answered for parkTime. A link
// whose server ignores ranges, or speaks of another object than the journal, waits for the
// other links' responses, for parkTime at most (judge.go).
//
// Failures are counted per link: after Config.Tries of them in a row without getting
// anywhere, the link is given up. The download ends when no link is left. A link that is
// renewed before takes part again, and a link that joins is as good as those from the start.
// While every link waits, after failures or because a server asks for it, no timeout runs:
// only the context ends that.
//
// A range goes this way: owner.step gets Start from the scheduler and launches a transfer
// (step.go); Engine.run makes the request, asks the owner whether its response may be read,
// and carries the bytes to their sink (transfer.go, carry.go); owner.count tells the scheduler
// of them (progress.go); owner.ended takes its end (ended.go). When a link goes silent, the
// scheduler bans it and withdraws its requests (Ban and Cancel in step.go), which counts as a
// failure of the link (owner.silence).
//
//	engine.go    Engine and its configuration      transfer.go  one request
//	link.go      a link of a run                   carry.go     its bytes to their sink
//	route.go     an Engine's connections over it   allowance.go how much a link may carry
//	segments.go  the kernel's counts of a link     blocks.go    memory for bytes
//	gather.go    how many bytes wake a reader      freelist.go  free blocks and pipes
//	uplink.go    uplinks full of acknowledgements  waker.go     when bytes wake the owner
//	sink.go, stream.go  where bytes go
//
// What any owner does, of one object or of many:
//
//	owner.go     its state                         linkstate.go what it knows of a link
//	step.go      the scheduler's actions           progress.go  what the scheduler is told of bytes
//	ended.go     a request's end, failures in a row  lost.go    links given up
//	arrive.go    links that come, come back or move  opening.go connections made early
//	report.go    what observers are told           trust.go     is a size believed?
//	load.go      what all downloads of a run ask of one server
//	fruitless.go requests that brought next to nothing          condition.go  is an object wanted?
//
// One object (Download):
//
//	job.go       a job from beginning to end       judge.go     may its response be taken?
//	download.go  the owner's state                 identity.go  the first response; other objects
//	loop.go      what wakes the owner              proof.go     bytes that answers have in common
//	diagnose.go  what a request's failure means    question.go  asking other links for the size
//	attempt.go   what one leaves to the next       singlestream.go  one request, without ranges
//	checksum.go  of the whole object               lastbyte.go  is what is there complete?
//
// Many (DownloadAll). They lie one behind the other in the scheduler's address space,
// in pieces; a file that is odd in any way is downloaded by itself (solo), as Download does:
//
//	batch.go     the owner's state and its loop    feed.go      laying files out, some ahead
//	file.go      one file, and where it goes       addressspace.go  addresses and files
//	firstresponse.go  may a response be taken?     batchdiagnose.go  what a failure means
//	site.go      servers, and what they have done  denied.go, unresolved.go  files that are not served
//	deferred.go  files put off                     finalize.go  verifying, committing, closing
//	solo.go      files downloaded by themselves    checkpoint.go  journals of large files
//	witness.go   asking another link for a size    tuner.go     how connections are shared out
package engine

import (
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Config is what an Engine needs to know.
type Config struct {
	HTTP    fetch.Config
	Bus     *event.Bus
	Started time.Time // the beginning of the run's time

	Algorithm   string   // one of scheduler.Names, or what Program is called
	Program     Policies // decides instead of Algorithm; nil: that does
	StaticLimit int64    // bytes, Algorithm 1
	Padding     float64  // Algorithm 3's staticFactor
	Overlap     float64  // as in scheduler.Config
	NoSteal     bool
	NoFailover  bool
	Parallelism int // as in scheduler.Config

	Meter    Meter // nil: power is not measured
	Energy   scheduler.EnergyMode
	Offload  float64        // as in scheduler.Config
	Deadline scheduler.Time // when the run should be over; 0: there is no such time

	BlockSize int // bytes of one read and one write; 0: what suits a connection, at most DefaultBlockSize
	Tries     int // failures in a row, per link, without 16 KiB of progress between them; 0: no end
	// ErrorTries is after how many answers before its first byte, over all links, that the server
	// has failed (fetch.Error.Failing) a file is given up; 0: after as many as Tries allows.
	ErrorTries   int
	RetryFor     scheduler.Time // from then on a failure is not tried again; 0: there is no such time
	StallTimeout time.Duration  // a request that is owed bytes and gets none for so long is tried again; 0: never
	LimitRate    *rate.Limiter  // bytes per second over all links, of NewLimiter; nil: no limit
	Overall      *rate.Limiter  // the same, of all engines that have it together
	Record       bool           // publish every step of the scheduler
}

// Policies gives each scheduler of a run a policy of its own. It is used by several goroutines.
type Policies interface{ Policy() scheduler.Policy }

// policy is the policy of one more scheduler.
func (c *Config) policy() (scheduler.Policy, error) {
	if c.Program != nil {
		return c.Program.Policy(), nil
	}
	return scheduler.NewPolicy(c.Algorithm, c.StaticLimit, c.Padding)
}

// Meter tells what the device has spent, as far as that is measured.
type Meter interface {
	// Spent is what was spent since readings began; false: it is not known, or not any
	// more. It may be called from any goroutine, and returns at once.
	Spent() (Spent, bool)
}

// Spent is what a device was measured to have spent.
type Spent struct {
	Joules float64        // above its base power
	Until  scheduler.Time // when the last reading was taken
	Every  scheduler.Time // between two readings
	Source string         // of the readings: "battery", "rapl", ...
}

// ErrInterrupted is the cause with which to cancel a download's context so that
// its state is kept for the next run.
var ErrInterrupted = errors.New("interrupted")

// Engine downloads objects over links.
type Engine struct {
	cfg    Config
	links  []*Link
	routes []*route // one per link
	blocks *blocks
	pipes  pipes
	batch  batchFacts // of the file that is downloaded, if it is one of a batch

	trust     *trust   // of the run
	load      *runLoad // of the run
	encodings []string // that the user has been told of
	waits     int      // long waits that the user has been told of since bytes came
}

// New makes an Engine over links. Close it. It fails when there is no such
// algorithm.
func New(cfg Config, links []*Link) (*Engine, error) {
	if _, err := cfg.policy(); err != nil {
		return nil, err
	}
	e := &Engine{
		cfg: cfg, links: links, routes: make([]*route, len(links)), blocks: newBlocks(cfg.BlockSize),
		batch: batchFacts{gone: make([]int64, len(links))}, trust: newTrust(), load: newRunLoad(len(links)),
	}
	if e.cfg.HTTP.Peers == nil {
		e.cfg.HTTP.Peers = fetch.NewPeers()
	}
	for i, l := range links {
		e.routes[i] = newRoute(l, &e.cfg.HTTP)
	}
	return e, nil
}

// Close closes all connections.
func (e *Engine) Close() {
	for _, r := range e.routes {
		r.close()
	}
	e.pipes.close()
}

// spent is what the device was measured to have spent.
func (e *Engine) spent() (Spent, bool) {
	if e.cfg.Meter == nil {
		return Spent{}, false
	}
	return e.cfg.Meter.Spent()
}

func (e *Engine) now() scheduler.Time { return sinceStart(e.cfg.Started) }

// readSize is how many bytes of a link to read at once.
func (e *Engine) readSize(id scheduler.LinkID) int {
	n := e.blocks.largest()
	for _, l := range e.limiters(id) {
		if l != nil {
			n = min(n, l.Burst())
		}
	}
	return n
}

// limited says whether a link's bytes have to wait.
func (e *Engine) limited(id scheduler.LinkID) bool {
	return e.limiters(id) != [...]*rate.Limiter{nil, nil, nil}
}

// limiters are the limits on rate that hold for a link; nil: there is none.
func (e *Engine) limiters(id scheduler.LinkID) [3]*rate.Limiter {
	return [...]*rate.Limiter{e.cfg.LimitRate, e.cfg.Overall, e.links[id].limiter}
}

// waitRate waits until n bytes of a link, at most readSize, may have passed.
// They have: when ctx ends, they count all the same.
func (e *Engine) waitRate(ctx context.Context, id scheduler.LinkID, n int) error {
	for _, l := range e.limiters(id) {
		if l == nil {
			continue
		}
		delay := l.ReserveN(time.Now(), n).Delay()
		if delay <= 0 {
			continue
		}
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return &fetch.Error{Class: fetch.Canceled, Err: context.Cause(ctx)}
		}
	}
	return nil
}
