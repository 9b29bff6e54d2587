package scheduler

import (
	"errors"
	"fmt"
)

// Config is what a Core must know beforehand. The zero value of a field is its
// default.
type Config struct {
	Links  int     // how many links there are; each is down until its LinkUp
	Policy Policy  // decides how much each link asks for; it serves this Core alone
	Size   int64   // the object's size in bytes; -1 until Sized tells it
	Have   []Range // the bytes that are there already: sorted and disjoint

	// First is the size in bytes of each link's first request while the
	// object's size is unknown: the k-th link asks for the k-th piece of it,
	// so that every link's first request is probe and data together.
	// Default 128 KiB, or 1 MiB of a batch, with an Overlap, or with only one
	// usable link.
	First int64
	// Overlap is the fraction of a request after which the link's next one is
	// sent (skjolden, 4.2.2: 0.6). 0 means just in time: when what is left
	// will last for no longer than the round trip of the next one.
	Overlap float64
	// Parallelism is how many streams a link has, each a connection of its own.
	// 0 means one, or six for a batch, and more where a link is far, or is seen
	// to carry more over more of them.
	Parallelism int
	// Window bounds how many bytes ahead of the last Drained may be asked
	// for; 0: no bound.
	Window int64
	// NoSteal and NoFailover switch off what goes beyond the thesis's
	// algorithms: the taking over of a slow link's tail, and the release of a
	// link that is silent or slow.
	NoSteal    bool
	NoFailover bool
	// Limited says that the links share a rate which they could exceed: nothing is fetched
	// twice then, since that would delay the rest.
	Limited bool

	// TLS says that connections begin with a TLS handshake, which costs each of them a round
	// trip, some kilobytes and work at both ends.
	TLS bool

	// Energy decides whether links are left idle for the sake of energy.
	Energy EnergyMode
	// Offload is the part of a costly link's share that EnergyEMTCP moves to the
	// cheap ones (chen, V.C: 0.24). 0 is the default, 0.24.
	Offload float64
	// Batch says that the bytes belong to many files, of which Added tells (see
	// Piece); Size and Have have no meaning then. The run is complete when every
	// byte was received or voided and none is Expected.
	Batch bool

	compared int64 // bytes that each request costs more; see Compared

	// Deadline is when the run should be over: EnergyMin then looks for the
	// cheapest way that meets it, and EnergyEMTCP spares a costly link only as
	// far as it allows. 0: there is none.
	Deadline Time
}

// secure says whether a connection has to be worth a TLS handshake. Where there are many files
// it will do for the next one, too.
func (c *Config) secure() bool { return c.TLS && !c.Batch }

// tlsTrips is how many round trips a handshake takes that a connection has to be worth
// (RFC 8446, 2).
func (c *Config) tlsTrips() Time {
	if c.secure() {
		return 1
	}
	return 0
}

// Validate says what is wrong with the configuration.
func (c *Config) Validate() error {
	switch {
	case c.Links < 1:
		return errors.New("a run needs at least one link")
	case c.Policy == nil:
		return errors.New("a run needs a policy")
	case !(c.Overlap >= 0 && c.Overlap < 1):
		return fmt.Errorf("the overlap %v is not within 0 to 1", c.Overlap)
	case c.Size >= unsized:
		return fmt.Errorf("an object of %d bytes is too large", c.Size)
	case c.Parallelism < 0 || c.Parallelism > MaxStreams:
		return fmt.Errorf("a link cannot have %d streams, at most %d", c.Parallelism, MaxStreams)
	case c.First < 0 || c.Window < 0:
		return errors.New("a size is negative")
	case c.Energy > EnergyMin:
		return fmt.Errorf("there is no energy mode %d", c.Energy)
	case !(c.Offload >= 0 && c.Offload <= 1):
		return fmt.Errorf("the share to offload, %v, is not within 0 to 1", c.Offload)
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

// comparedRequest is how many times what each request costs more is worth one: 3 %.
const comparedRequest = 32

// urgent says whether backups may be chosen beside others: for a deadline.
func (c *Config) urgent() bool { return c.Energy == EnergyMin && c.Deadline > 0 }

// once says whether nothing is to be fetched twice.
func (c *Config) once() bool { return c.Limited || c.compared > 0 }

func (c *Config) minRequest() int64 {
	switch {
	case c.compared > 0 && !c.Batch && c.Window == 0:
		return comparedRequest * c.compared
	case c.Batch:
		return leastPiece
	case c.Window > 0:
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
