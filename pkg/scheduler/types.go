package scheduler

import "fmt"

// Time is a point in a run, in nanoseconds since the run began. The scheduler never asks a clock:
// its driver, an engine or a simulator, says when each input happened.
type Time int64

// Lengths of run time.
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

// StreamID names one of a link's connections: 0 to MaxStreams-1.
type StreamID int32

// MaxStreams is the most connections that a link can have.
const MaxStreams = 64

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

// InputKind says what an Input reports.
type InputKind uint8

// The kinds of input. The comment of each names the fields that it uses; the others are zero.
const (
	// LinkUp: Link can carry requests from now on. That ends its ban, and its wait after a failure
	// except for the Wait that its server asked for. Bandwidth and RTT are what is known of it
	// beforehand (0: nothing); Terms are the terms on which it may be used (zero: as before).
	LinkUp InputKind = iota
	// LinkDown: Link cannot carry requests until the next LinkUp. Its requests are released at the
	// byte that the last Progress named.
	LinkDown
	// Sized: Bytes is the object's size. It comes before any Progress has Bytes.
	Sized
	// Progress: Chunk has received Bytes in all. Times and counts are 0 while unknown:
	//
	//	RTT        a round trip of the link, of which the least counts
	//	Handshake  the round trip of its latest handshakes; Shook that of one just made, told once
	//	Trip       the present round trip of its data, queues included
	//	Reordered  packets of the link that arrived out of order, in all
	//	Behind     bytes that wait on the chunk's connection behind a lost packet, told anew as
	//	           there are more; they are not among Bytes
	//	Single     the connection serves this request alone: the server ends it then
	//	Lasting    the connection outlives requests that are cut short (HTTP/2)
	//	Answered   the head of the response has arrived
	//	Held       the reader takes no bytes, so that their absence means nothing; told anew for
	//	           as long as that is so
	Progress
	// Finished: Chunk has received every byte up to its end, Bytes in all.
	Finished
	// Failed: Chunk ended after Bytes in all. Its link must not be asked again before Wait has
	// passed, unless its ban ends before that. Bounded: the server is too busy for this request
	// while it answers so many on the link's other connections, and may bound their number. If the
	// link does without this connection then, Wait has no effect.
	Failed
	// Drained: the first Bytes of the object were consumed (only with Config.Window, which bounds
	// how far ahead of them requests may go).
	Drained
	// Power: the device has drawn Watts above its base power, on average over the last Wait.
	Power
	// Tick: time has passed, and the Progress of every chunk in flight has been told. Only a Tick
	// finds links silent or slow.
	Tick
	// Spent: Link, whose Terms have a Cap, has received Bytes of payload in all, waste and what
	// other programs used it for included.
	Spent
	// Added: Piece is wanted (this and the next three only with Config.Batch).
	Added
	// Voided: the bytes in Piece.Range are no longer wanted; requests for them are shortened or
	// withdrawn. The range may reach over several pieces.
	Voided
	// Expected: about Bytes more are to be Added; 0: none.
	Expected
	// Planned: Link uses its connections as Plan says.
	Planned
	// Beyond: Chunk ended without a byte, because the object ends at Bytes, before its range, as
	// Link's server says; the object's identity is not known yet. RTT is the link's.
	Beyond
	// Compared: each request also brings Bytes from before its range that another request brings
	// or has brought. Without a validator, they show that answers are of one object. So requests
	// are few and large, and nothing is fetched twice, as bytes of two answers must not mix. 0: no
	// longer.
	Compared
	// Short: Chunk's response, whose head has arrived, has Bytes in all, fewer than were requested,
	// though the object has more: its server gives no more at once.
	Short
)

// Input is one thing that the scheduler is told.
type Input struct {
	Kind      InputKind `json:"kind"`
	Link      LinkID    `json:"link,omitempty"`
	Chunk     ChunkID   `json:"chunk,omitempty"`
	Bytes     int64     `json:"bytes,omitempty"`
	RTT       Time      `json:"rtt,omitempty"`
	Handshake Time      `json:"handshake,omitempty"`
	Shook     Time      `json:"shook,omitempty"`
	Trip      Time      `json:"trip,omitempty"`
	Wait      Time      `json:"wait,omitempty"`
	Reordered int64     `json:"reordered,omitempty"`
	Behind    int64     `json:"behind,omitempty"`
	Bandwidth float64   `json:"bandwidth,omitempty"` // bytes per second
	Watts     float64   `json:"watts,omitempty"`
	Single    bool      `json:"single,omitempty"`
	Lasting   bool      `json:"lasting,omitempty"`
	Answered  bool      `json:"answered,omitempty"`
	Held      bool      `json:"held,omitempty"`
	Bounded   int       `json:"bounded,omitempty"`
	Terms     Terms     `json:"terms,omitzero"`
	Piece     Piece     `json:"piece,omitzero"`
	Plan      *Plan     `json:"plan,omitempty"`
}

// ActionKind says what an Action asks for.
type ActionKind uint8

// The kinds of action. The comment of each names the fields that it uses.
const (
	// Start: request Range over Link as Chunk, on its connection Stream. Copy: another request has
	// been made for these bytes already; the first to have them is Finished, and the other one
	// cancelled.
	Start ActionKind = iota
	// Shrink: Chunk now ends at Range.End; what it receives beyond is waste. Close: its connection
	// is closed there too, since most of what was requested is on its way.
	Shrink
	// Cancel: Chunk is withdrawn. Only what lies within Range counts of the bytes that it has
	// received and will receive; the rest is waste. Close: as with Shrink.
	Cancel
	// Ban: Link was found slow or silent and gets no work for a while.
	Ban
	// Unban: Link carries work again.
	Unban
	// Complete: every byte has been received. It comes once.
	Complete
	// Rest: Link gets no more work until its Wake; Why is the reason. Its requests were withdrawn,
	// or are left to finish. A second Rest has another reason.
	Rest
	// Wake: Link may get work again; Why is the reason.
	Wake
	// Open: make Link's connection Stream, on which there is no request; one may follow, at any
	// time or never. It is not a request: neither its success nor its failure is reported. A driver
	// that knows that the server answers requests side by side need not make it.
	Open
	// Flush: nothing follows for now on Link's connection Stream behind what it has in flight; the
	// server should be made to send all of that.
	Flush
)

// Action is one thing that the scheduler asks for.
type Action struct {
	Kind   ActionKind `json:"kind"`
	Link   LinkID     `json:"link,omitempty"`
	Stream StreamID   `json:"stream,omitempty"`
	Chunk  ChunkID    `json:"chunk,omitempty"`
	Range  Range      `json:"range,omitzero"`
	Copy   bool       `json:"copy,omitempty"`
	Close  bool       `json:"close,omitempty"`
	Why    Reason     `json:"why,omitempty"`
	Costs  int64      `json:"costs_mj,omitempty"` // mJ
	Saves  int64      `json:"saves_mj,omitempty"` // mJ; negative if it costs more
}
