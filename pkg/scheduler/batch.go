package scheduler

import "fmt"

// A batch is a job of many files. Its Core (Config.Batch) does not know files as such: they lie one
// behind the other in one address space, as pieces, which the driver of the Core lays out. A
// request never crosses the end of a piece. So the rules for the end of one file hold for the end
// of the job: links and connections end together however the bytes are cut into files, and a
// connection has its next request, for whatever file, before it has run dry.
//
//	Added     a piece is wanted
//	Voided    these bytes are no longer wanted, or do not exist
//	Expected  how much is still to be Added, as far as is known; 0: nothing
//	Planned   how a link should use its connections
//
// These, and what Finished and Failed tell, take effect with an input of another kind, mostly a
// Tick, when all that has happened has been told. Until the first Expected very much is taken to
// be still to come. Files in progress go before others, except that the first bytes of files of
// unknown size are requested early where that tells the most.

// MaxClasses is how many classes of files there can be: small, medium and large
// ones (guner-kosar).
const MaxClasses = 3

// Class is a class of files by size: 0 are the smallest.
type Class uint8

// Piece is what an Added tells: bytes of one file that lie together in the address
// space. Pieces never overlap, and each begins at or behind the end of the one
// before.
type Piece struct {
	Range Range `json:"range"`
	File  int32 `json:"file"`
	Class Class `json:"class,omitempty"`
	// Guess says that the file's size is not known. Until it is, the piece is requested
	// once: as a whole, or only its beginning if the whole would take a connection too
	// long. When the first response tells the size, the driver voids what does not exist,
	// or adds another piece, before it tells of a byte; if it does neither, the file is
	// taken to be at least as long as the piece.
	Guess bool `json:"guess,omitempty"`
}

// Plan is how the connections of a link are shared out among files. The zero Plan
// leaves it to the Core: as many connections as the link is worth, in the order of
// addresses.
type Plan struct {
	Classes [MaxClasses]Share `json:"classes"`
	// Files is how many files may be in progress at once over all links; 0: any
	// number. The least of all links' Plans holds. With a bound, Parallelism holds to
	// the end of the job; without one, connections that have nothing left help others
	// there.
	Files int `json:"files,omitempty"`
}

// Share is a class's part in a Plan. A connection whose class has no work left
// serves the class that has the most left to do.
type Share struct {
	Connections int `json:"connections"`           // of the link, for files of this class
	Parallelism int `json:"parallelism,omitempty"` // how many of these serve one file together; 0: one
	// Pipelining is how many requests a connection may have in flight; 0: as many as
	// it takes for it never to run dry.
	Pipelining int `json:"pipelining,omitempty"`
}

// Connections is how many connections the plan uses; 0 of the zero Plan.
func (p *Plan) Connections() (n int) {
	for _, s := range p.Classes {
		n += s.Connections
	}
	return n
}

// Validate says what is wrong with the plan.
func (p *Plan) Validate() error {
	for i, s := range p.Classes {
		if s.Connections < 0 || s.Parallelism < 0 || s.Pipelining < 0 {
			return fmt.Errorf("class %d: a negative share", i)
		}
	}
	if n := p.Connections(); n > MaxStreams {
		return fmt.Errorf("a link cannot have %d connections, at most %d", n, MaxStreams)
	}
	return nil
}
