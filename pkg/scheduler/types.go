package scheduler

import "fmt"

// Time is a point in a run, in nanoseconds since the run began. The scheduler
// never asks a clock: whoever drives it, an engine or a simulator, says when
// each input happened.
type Time int64

// Second is one second of run time.
const (
	Microsecond Time = 1000
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// Never is a Time that no run reaches.
const Never Time = 1<<63 - 1

// Seconds gives t in seconds.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }

// FromSeconds turns seconds into a Time.
func FromSeconds(s float64) Time { return Time(s * float64(Second)) }

// LinkID names a link within a run: 0, 1, 2… in the order of Config.Links.
type LinkID int32

// ChunkID names one request within a run. Ids rise from 0 and are not reused.
type ChunkID int32

// NoLink and NoChunk name no link and no chunk.
const (
	NoLink  LinkID  = -1
	NoChunk ChunkID = -1
)

// Range is the half-open range of bytes [Off, End).
type Range struct {
	Off int64 `json:"off"`
	End int64 `json:"end"`
}

// Len is the number of bytes in r.
func (r Range) Len() int64 { return r.End - r.Off }

// Empty says whether r holds no byte.
func (r Range) Empty() bool { return r.End <= r.Off }

func (r Range) String() string { return fmt.Sprintf("[%d,%d)", r.Off, r.End) }
