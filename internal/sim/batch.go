package sim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mlget/mlget/internal/dataset"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// What the engine does with a job of many files: how large a file of unknown size
// is guessed to be, how much and how many it keeps the scheduler supplied with, and
// how often it asks the tuner.
const (
	guess      = 1 << 20
	aheadBytes = 16 << 20
	aheadTime  = 4 // seconds of what the links carry
	aheadFiles = 300
	tuneEvery  = 250 * scheduler.Millisecond
	batchDepth = 32 // requests on a connection, as the fetcher has them
)

// Batch is a job of many files.
type Batch struct {
	Name  string
	Files []int64 // their sizes in bytes, in order; each at least 1
	// Known says that an index tells the sizes. Otherwise each is learnt from the
	// first response.
	Known bool
	// Tuning is the mode and what belongs to it; its Links are filled in.
	Tuning tuning.Config
	// Untuned leaves all plans to the scheduler.
	Untuned bool
}

// Bytes is the sum of the files' sizes.
func (b *Batch) Bytes() (n int64) {
	for _, f := range b.Files {
		n += f
	}
	return n
}

func (b *Batch) validate(links int) error {
	if len(b.Files) == 0 {
		return errors.New("a batch needs a file at least")
	}
	for i, f := range b.Files {
		if f < 1 {
			return fmt.Errorf("file %d has %d bytes: must be 1 at least", i, f)
		}
	}
	t := b.Tuning
	t.Links = links
	return t.Validate()
}

// BatchResult is what came of a job of many files beside its Result.
type BatchResult struct {
	Name        string       `json:"name"`
	Files       int          `json:"files"`
	Mode        string       `json:"mode"`
	Concurrency int          `json:"concurrency,omitempty"`
	Parallelism int          `json:"parallelism,omitempty"`
	Changes     []PlanChange `json:"plans"`
}

// PlanChange is a plan that a link was told, and when in seconds.
type PlanChange struct {
	At          float64        `json:"at"`
	Link        string         `json:"link"`
	Connections int            `json:"connections"`
	Plan        scheduler.Plan `json:"plan"`
	Why         string         `json:"why"`
}

// batch drives a job of many files: it lays them out in the scheduler's space of
// addresses, and tells it what responses say of their sizes.
type batch struct {
	cfg    *Batch
	tuner  *tuning.Tuner
	files  []file
	pieces []piece // by address
	next   int     // the first file that is not laid out
	top    int64   // the first address that is free
	known  int64   // bytes of files whose size is known
	sized  int     // how many these are
	due    scheduler.Time

	left, received [scheduler.MaxClasses]int64
	open           [scheduler.MaxClasses]int // files that are laid out and not complete
	unknown        [scheduler.MaxClasses]int // of them, those of unknown size: they are not in left
	changes        []tuning.Change
	told           []PlanChange
	views          []tuning.LinkView
}

type file struct {
	size  int64
	done  int64
	class scheduler.Class
	known bool
}

// piece is where bytes of a file lie.
type piece struct {
	rng  scheduler.Range
	file int
	from int64 // their offset in the file
}

func newBatch(cfg *Batch, links int) (*batch, error) {
	b := &batch{cfg: cfg, files: make([]file, len(cfg.Files)), views: make([]tuning.LinkView, links)}
	for i, size := range cfg.Files {
		b.files[i] = file{size: size, known: cfg.Known}
	}
	t := cfg.Tuning
	t.Links = links
	var err error
	b.tuner, err = tuning.New(t)
	return b, err
}

// locate is the piece at an address.
func (b *batch) locate(at int64) *piece {
	i, found := slices.BinarySearchFunc(b.pieces, at, func(p piece, at int64) int {
		switch {
		case p.rng.End <= at:
			return -1
		case p.rng.Off > at:
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	return &b.pieces[i]
}

// mean is the mean size of the files so far, in bytes.
func (b *batch) mean() int64 {
	if b.sized == 0 {
		return guess
	}
	return max(1, b.known/int64(b.sized))
}

// begin lays out the first files.
func (r *run) begin() {
	if r.batch != nil {
		r.tune()
		r.supply()
	}
}

// supply keeps the scheduler supplied with files.
func (r *run) supply() {
	b := r.batch
	enough := int64(aheadBytes)
	for i := range r.links {
		enough = max(enough, int64(aheadTime*r.core.Link(scheduler.LinkID(i)).Bandwidth))
	}
	before := b.next
	for b.next < len(b.files) && (r.core.Free() < enough || b.open[0]+b.open[1]+b.open[2] < aheadFiles) {
		r.layOut(b.next)
		b.next++
	}
	if b.next > before || b.next == 0 {
		r.step(scheduler.Input{Kind: scheduler.Expected, Bytes: int64(len(b.files)-b.next) * b.mean()})
	}
}

// layOut gives the scheduler a file.
func (r *run) layOut(i int) {
	b := r.batch
	f := &b.files[i]
	size := f.size
	if f.known {
		b.learn(size)
		f.class = b.tuner.Class(size)
	} else {
		size = guess
		f.class = b.tuner.Class(-1)
		b.unknown[f.class]++
	}
	b.open[f.class]++
	if f.known {
		b.left[f.class] += size
	}
	r.add(i, 0, size)
}

// learn counts a size that has become known.
func (b *batch) learn(size int64) {
	b.known += size
	b.sized++
	b.tuner.Size(size)
}

// add lays out bytes of a file, from an offset on.
func (r *run) add(i int, from, bytes int64) {
	b := r.batch
	rng := scheduler.Range{Off: b.top, End: b.top + bytes}
	b.top = rng.End
	b.pieces = append(b.pieces, piece{rng, i, from})
	r.step(scheduler.Input{Kind: scheduler.Added, Piece: scheduler.Piece{
		Range: rng, File: int32(i), Class: b.files[i].class, Guess: !b.files[i].known,
	}})
}

// place says to which file a request belongs, and what of it exists.
func (b *batch) place(q *request, rng scheduler.Range) {
	p := b.locate(rng.Off)
	q.file = p.file
	from := p.from + rng.Off - p.rng.Off
	q.asked = max(0, min(from+rng.Len(), b.files[p.file].size)-from)
	q.base = p.rng.Off
}

// Sizes are those of the files of a set.
func Sizes(s dataset.Set) []int64 {
	sizes := make([]int64, s.Len())
	for i := range sizes {
		sizes[i] = s.File(i).Body.Size
	}
	return sizes
}

// size learns a file's size from a response.
func (r *run) size(q *request) {
	b := r.batch
	f := &b.files[q.file]
	if f.known {
		return
	}
	f.known = true
	b.learn(f.size)
	b.unknown[f.class]--
	b.left[f.class] += f.size - f.done
	switch {
	case f.size < guess:
		rng := scheduler.Range{Off: q.base + f.size, End: q.base + guess}
		r.step(scheduler.Input{Kind: scheduler.Voided, Piece: scheduler.Piece{Range: rng, File: int32(q.file)}})
	case f.size > guess:
		r.add(q.file, guess, f.size-guess)
	}
}

// receive counts bytes of a file that are there for good.
func (b *batch) receive(i int, bytes int64) {
	f := &b.files[i]
	f.done += bytes
	if f.known {
		b.left[f.class] -= bytes
	}
	b.received[f.class] += bytes
	if bytes > 0 && f.known && f.done == f.size {
		b.open[f.class]--
	}
}

// got counts what a request has brought for good.
func (r *run) got(q *request, bytes int64) {
	if r.batch != nil {
		r.batch.receive(q.file, bytes)
	}
}

// supplied supplies the scheduler, and asks the tuner when it is time to.
func (r *run) supplied() {
	if r.batch == nil {
		return
	}
	r.supply()
	if r.now >= r.batch.due {
		r.tune()
	}
}

// tune asks the tuner, and tells the scheduler of its plans.
func (r *run) tune() {
	b := r.batch
	b.due = r.now + tuneEvery
	if b.cfg.Untuned {
		return
	}
	o := tuning.Observation{Links: b.views, Left: b.left, Files: b.open, Received: b.received, Joules: r.joules(), SpentAt: r.now}
	for i := range r.links {
		status := r.core.Link(scheduler.LinkID(i))
		b.views[i] = tuning.LinkView{
			Up: !r.links[i].state.Gone() && !r.links[i].lost, Rate: status.Rate, Bandwidth: status.Bandwidth, RTT: status.RTT,
			Trip: r.links[i].trip(), Streams: r.links[i].working(),
		}
	}
	for _, q := range r.transfers {
		if f := &b.files[q.file]; !q.copy && f.known {
			o.Received[f.class] += q.told
			o.Left[f.class] -= q.told
		}
	}
	class := b.tuner.Class(-1)
	o.Left[class] += int64(len(b.files)-b.next) * b.mean()
	for k, n := range b.unknown {
		o.Left[k] += int64(n) * b.mean()
	}
	o.Files[class] += len(b.files) - b.next
	b.changes = b.tuner.Step(r.now, o, b.changes[:0])
	for i := range b.changes {
		c := &b.changes[i]
		plan := c.Plan
		b.told = append(b.told, PlanChange{
			At: r.now.Seconds(), Link: r.links[c.Link].name, Connections: plan.Connections(), Plan: plan, Why: c.Why,
		})
		r.step(scheduler.Input{Kind: scheduler.Planned, Link: c.Link, Plan: &plan})
	}
}

// result is what the job came to. It fails when bytes are missing.
func (b *batch) result() (*BatchResult, error) {
	for i := range b.files {
		if f := &b.files[i]; f.done != f.size {
			return nil, fmt.Errorf("file %d: %d bytes of %d", i, f.done, f.size)
		}
	}
	mode := b.cfg.Tuning.Mode.String()
	if b.cfg.Untuned {
		mode = "untuned"
	}
	return &BatchResult{
		Name: b.cfg.Name, Files: len(b.files), Mode: mode,
		Concurrency: b.cfg.Tuning.Concurrency, Parallelism: b.cfg.Tuning.Parallelism, Changes: b.told,
	}, nil
}
