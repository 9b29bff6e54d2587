package adversary

import "time"

// World is one history: what is served, over which links, and what the user does. It is
// pure data, so that a failing one can be printed and made smaller.
type World struct {
	Seed  uint64
	HTTP2 bool // by prior knowledge; false: HTTP/1.1
	Mode  Mode
	// Foreign is what another program has left under the final name, to go on with (-c);
	// nil: nothing.
	Foreign *Foreign

	Algorithm   string // as in scheduler.Names
	StaticLimit int64  // bytes; Algorithm 1's
	Parallelism int    // 0: chosen
	Tries       int    // as in engine.Config

	// Consumer is how fast a stream's bytes are taken, in bytes per second; 0: at once.
	Consumer float64

	Files []File
	Edges []Edge
	Links []Link
	Runs  []Run // the last is not interrupted

	// Anchor is the link that is usable throughout and leads to honest servers of one
	// version; -1: there is none.
	Anchor int
	// Ambiguous: other links' answers contradict the anchor's with bytes of the object.
	Ambiguous bool
	// SameSecond: versions share their Last-Modified.
	SameSecond bool
}

// Mode is what the user asks for.
type Mode uint8

// The modes.
const (
	Single Mode = iota // one file
	Stream             // one object, in order, to standard output
	List               // all files, as one job
)

// Foreign is a file that another program began: the first Size bytes of a version.
type Foreign struct {
	Version int
	Size    int64
}

// File is one object over time.
type File struct{ Versions []Version }

// Version is an object at a time.
type Version struct {
	Size     int64
	Tag      string // opaque, without quotes
	Modified time.Time
}

// Edge is a server of all files, at an address of its own.
type Edge struct {
	// Changes are the versions that it has, by time; before the first one it is 0. A file
	// with fewer versions counts them round.
	Changes []Change
	// Turns, if any, are the versions of its answers, by turns, as of several machines
	// behind one address. They go before Changes.
	Turns []int
	// Shows are the validators of its answers, by turns.
	Shows     []Shown
	TagSuffix string // of its entity tags: they are its own

	Ranges RangeHabit
	After  int   // Ranges == RangesEnd, RangesCapped: how many ranges it answers before as RangesYes
	Most   int64 // Ranges == RangesCapped: bytes of one answer

	Framing   Framing
	KeepAlive int           // requests of a connection; 0: any number
	Conns     int           // requests at once over one link; others get an error; 0: any number
	Refusal   int           // the status of those
	Idle      time.Duration // after which it closes a connection without a request; 0: never
	OneByOne  bool          // it serves one connection at a time; others wait until that is closed
	Redirects bool          // it sends requests on to another host, which is the same edge
	EmptyOK   bool          // it answers a range of an empty object with 200
	Success   int           // the status instead of 200; 0: 200
	Faults    []Fault
}

// Change is a change of version.
type Change struct {
	Run     int           // counted from 0
	At      time.Duration // since that run began
	Version int
}

// Shown are the validators that an answer shows.
type Shown uint8

// The validators.
const (
	ShowTag  Shown = 1 << iota // a strong entity tag
	ShowWeak                   // a weak one; with ShowTag: ignored
	ShowDate
)

// RangeHabit is what an edge makes of Range.
type RangeHabit uint8

// The habits. From RangesBad on a request with Range fails where one without succeeds.
const (
	RangesYes      RangeHabit = iota
	RangesNever               // 200 with everything
	RangesEnd                 // as RangesYes, then as RangesNever
	RangesCapped              // less than what was asked for
	RangesBad                 // 400
	RangesDenied              // 403
	RangesError               // 500
	RangesMissing             // 501
	RangesDropped             // the connection ends
	RangesMultiple            // multipart/byteranges
	RangesUnnamed             // 206 without Content-Range
	RangesWrong               // 206 whose Content-Range is not what was asked for
	RangesTotal               // Content-Range without the total
	RangesTags                // another entity tag each time
)

// Framing is how the end of a body is told.
type Framing uint8

// The framings.
const (
	ByLength   Framing = iota
	Chunked            // HTTP/2: without Content-Length
	UntilClose         // HTTP/2: without Content-Length
)

// Fault is something that an edge does wrong, from its First answer (counted by run, link
// and file) on, for Count answers; 0: for ever.
type Fault struct {
	Kind  FaultKind
	File  int // -1: all
	First int
	Count int
	N     int64         // bytes, or a status
	Wait  time.Duration // Delay, RetryAfter
}

// FaultKind is a kind of Fault.
type FaultKind uint8

// The kinds. Of those from Empty416 on the answer is a lie.
const (
	Delay       FaultKind = iota // the answer comes after Wait
	Silence                      // no answer, and the connection stays
	ResetFirst                   // the connection is reset before the answer
	CloseFirst                   // it is closed before the answer
	ResetBody                    // it is reset after N bytes of the body
	CutBody                      // it is closed (HTTP/2: the stream is reset) after N bytes of the body
	StallBody                    // nothing more comes after N bytes of the body
	Status                       // an error of status N; Wait: Retry-After
	Late200                      // a range is answered with everything
	Shifted                      // 206 of another range than was asked for, and says so
	LongBody                     // more bytes follow than Content-Length says
	ShortLength                  // Content-Length is less than Content-Range says, by N
	Unsized416                   // 416 without Content-Range
	Empty416                     // 416 bytes */0
	Wrong416                     // 416 bytes */N
	Empty200                     // 200 without a byte
	NoContent                    // 204
	Small206                     // 206 bytes 0-(N-1)/N, whatever was asked for
	WrongTotal                   // the total is N bytes longer than it is (shorter, if negative)
	ShortEnd                     // a body without a length ends after N bytes as if it were whole
	PortalPage                   // a page, with 200
	PortalMove                   // a redirect to the page
)

// Link is a way to the edges.
type Link struct {
	Rate    float64       // bytes per second
	Latency time.Duration // one way
	Edges   []int         // what names lead to, by turns of connections
	Refused int           // so many connections are refused at first; negative: all
	NoName  int           // so many times the name is not found; negative: always
	Portal  FaultKind     // PortalPage or PortalMove: all connections lead to a portal; 0: none
	Outages []Outage
	Cut     int64 // every connection is reset after so many bytes to the client; 0: none is
}

// Outage is a time in which nothing arrives.
type Outage struct{ From, To time.Duration } // of a run

// Run is one run of the user's command.
type Run struct {
	Interrupt time.Duration // when it is interrupted; 0: never
	Killed    bool          // it is killed then: what was on disk is there, and nobody has tidied up
}

// Bound is how long a run may take: each link may fail so many times in a row for each
// file, each time after it was silent for as long as the user allows, and a pause; and once
// for each 16 KiB, which begin a new row.
func (w *World) Bound() time.Duration {
	rows := int64(0)
	for _, f := range w.Files {
		for _, v := range f.Versions {
			rows += v.Size / (16 << 10)
		}
	}
	return time.Duration(1+int64(len(w.Links))*(rows+int64(len(w.Files)*(w.Tries+1)))) * 2 * Silent
}

// Silent is how long a server may be silent: the user's --timeout.
const Silent = 30 * time.Second
