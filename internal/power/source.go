package power

import (
	"context"
	"errors"
	"time"
)

// maxWatts is the most that is believed of any reading: what claims more is
// garbage.
const maxWatts = 10_000

// source is something that can be read.
type source interface {
	// describe describes the source.
	describe() description
	// read takes a reading, now, and appends to out what it gives: usually one
	// sample, but a source may hold samples back until it understands them. An
	// error says what was wrong, also where there is a sample all the same.
	read(ctx context.Context, now time.Duration, out []sample) ([]sample, error)
	// renew opens the files again after a failed reading: the device may have been gone, and be
	// there again. What is known of it stays.
	renew()
	// flush appends what was held back.
	flush(out []sample) []sample
	// close releases what is open.
	close()
}

// description is a source's description of itself.
type description struct {
	name   string
	detail string        // what is read, for people
	least  time.Duration // the shortest interval that it can be read at; 0: any
	most   time.Duration // the longest at which nothing is missed; 0: any
	slow   bool          // too slow for a caller to wait for a reading
}

// sample is one reading.
type sample struct {
	at       time.Duration // since the run began
	watts    float64       // of a gauge
	joules   float64       // of a counter: since its first reading
	counter  bool
	external bool          // on external power: not what the device draws
	refresh  time.Duration // of a gauge: between two looks of its slowest part; 0: unknown
}

// plausible says whether any device could draw so much, or so little.
func (s sample) plausible() bool { return s.counter || s.watts >= 0 && s.watts <= maxWatts }

// opener is a kind of source and what makes one, or says why it cannot.
type opener struct {
	name string
	hint string // what could make it readable; empty: nothing
	open func(ctx context.Context, tree folder, cfg Config) (source, error)
}

// Reasons why a source gives nothing.
var (
	errNone        = errors.New("none found")
	errImplausible = errors.New("implausible")
)
