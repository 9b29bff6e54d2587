package faults

import (
	"time"

	"github.com/mlget/mlget/internal/linklab/hostile"
)

// The exit codes that cells speak of; CONTRACT: wget's, curl's 45, 9 of its own.
const (
	exitNetwork  = 4
	exitTLS      = 5
	exitAuth     = 6
	exitProtocol = 7
	exitResponse = 8
	exitChecksum = 9
	exitNoLink   = 45
)

// expectation is what may come of a cell's first run. Of the second one, when
// the fault is over, only the right file may.
type expectation struct {
	codes    []int         // besides 0: clear errors; none: it has to finish
	maxTime  time.Duration // --max-time, where nothing else would end it
	timeout  time.Duration // -T and --connect-timeout
	checksum bool          // the hash is given to the program
	other    bool          // the other object is right too, as long as it is whole
}

// stallTimeout is how long a run bears silence.
const stallTimeout = 2 * time.Second

// expect says what may come of a cell.
func (c Cell) expect() expectation {
	var e expectation
	if c.Family == OfLink {
		e = c.expectOfLink()
	} else {
		e = c.expectOfServer()
	}
	if e.timeout == 0 {
		e.timeout = stallTimeout
	}
	return e
}

func (c Cell) expectOfLink() expectation {
	f := LinkFault(c.Kind)
	if f == Latency {
		return expectation{timeout: 12 * time.Second}
	}
	if f == Scrambled && !c.Protocol.TLS() { // only a checksum can tell
		return expectation{codes: []int{exitNetwork, exitProtocol, exitResponse, exitChecksum}, checksum: true}
	}
	if c.Links > 1 && !c.All {
		return expectation{}
	}
	switch f {
	case LinkDown, RouteLost, BlackHole, AddressChanged, MTUHole, Deaf, Dumb, MovesTwice, NoNew, Unreachable, Flaps, Stutters:
		return expectation{codes: []int{exitNetwork, exitNoLink}}
	case RateZero: // a packet of a second is no silence
		return expectation{codes: []int{exitNetwork}, maxTime: 10 * time.Second}
	default:
		return expectation{}
	}
}

// patience is --max-time where an answer goes on for ever.
const patience = 10 * time.Second

func (c Cell) expectOfServer() expectation {
	k := hostile.Kind(c.Kind)
	e := expectation{codes: codesOf(k, c)}
	switch k {
	case hostile.Drip, hostile.RetryLong, hostile.EmptyDataFlood, hostile.InterimFlood, hostile.PingFlood, hostile.SettingsFlood,
		hostile.UnknownFlood:
		if c.Edge {
			e.maxTime = 3 * patience
		} else {
			e.maxTime = patience
		}
	case hostile.Corrupt, hostile.HTTP10PlainCut, hostile.WholeUnframedEnd, hostile.CutCache:
		e.checksum = true
	case hostile.PortalPage, hostile.PortalRedirect: // it is the object, for all that anybody can tell
		e.checksum = !c.Edge
	case hostile.EmptyRange, hostile.EmptyWhole, hostile.SmallPart:
		// Said by every link, or by a server that TLS vouches for, it is the object.
		e.checksum = !c.Edge || c.poisons()
	case hostile.OtherObject, hostile.ChangedETag, hostile.ChangedSize, hostile.LateETags, hostile.DateThenETags:
		e.other = true
	default:
	}
	if c.Files > 0 && (k == hostile.RefuseMore || k == hostile.ResetMore) {
		e.codes = []int{exitNetwork, exitResponse} // so many at once may be more than it bears
	}
	if c.Edge && !c.poisons() {
		e.codes = nil // the other link's answers are good
	}
	return e
}

// poisons says whether one edge may spoil the whole: which of two answers is the right
// one cannot be told, or TLS vouches for either.
func (c Cell) poisons() bool {
	switch hostile.Kind(c.Kind) {
	case hostile.Corrupt, hostile.OtherObject, hostile.WrongTotal, hostile.CutCache, hostile.ModifiedBack, hostile.ETagEach,
		hostile.LateETags, hostile.DateThenETags:
		return true
	default:
		return c.lies() && c.Protocol.TLS()
	}
}

// codesOf are the clear errors that a server's fault may end in when nothing else
// answers.
func codesOf(k hostile.Kind, c Cell) []int {
	once := !c.Always
	switch k {
	// A good server, if an odd one: nothing but the file will do.
	case hostile.WeakETag, hostile.EdgeETag, hostile.NoValidators, hostile.ChunkedPart, hostile.Interim, hostile.CloseEach,
		hostile.RefuseMore, hostile.ResetMore, hostile.CloseSilently, hostile.HTTP10, hostile.HTTP10Plain, hostile.GoAway,
		hostile.WindowPadding, hostile.Slow, hostile.EdgeURL, hostile.OtherCert, hostile.SameLengthTwice, hostile.BigSettings,
		hostile.UnknownFrames, hostile.Trailers, hostile.NoStreams, hostile.RangeCase, hostile.Identity, hostile.RedirectOdd,
		hostile.ETagBare, hostile.NoReason, hostile.LengthSpaces, hostile.InterimLies, hostile.ChunkExtensions, hostile.ChunkDust,
		hostile.HeaderCrumbs, hostile.SettingsZero, hostile.GoAwayTwice, hostile.ResetAfterEnd, hostile.BareLF,
		// Against the letter of RFC 9112, but to be read in one way only, as curl does.
		hostile.LengthList, hostile.IdentityCoding, hostile.ChunksLF, hostile.SpacedHeader, hostile.Folded,
		hostile.WrongEnd, hostile.SmallAnswers, // a part of what was asked for (RFC 9110, 15.3.7)
		hostile.RangesRefused, hostile.RangesForbidden, hostile.RangesFail, hostile.RangesCut, hostile.OneConnection:
		return nil
	case hostile.Expiring:
		if c.Where == hostile.PlaceStart && once || c.Files > 0 { // the very first signed URL of a file is of no use
			return []int{exitResponse}
		}
		return nil
	// Once, it is an accident, which another try mends.
	case hostile.Truncated, hostile.Reset, hostile.Stall, hostile.Mute, hostile.Status429, hostile.Status500, hostile.Status503,
		hostile.GoAwayError, hostile.RSTStream, hostile.RSTRefused, hostile.EarlyEnd, hostile.WindowStarved,
		hostile.WholeCut, hostile.ChunksCut, hostile.HTTP10Cut, hostile.UnframedCut, hostile.ShortChunks, hostile.WholeEarlyEnd,
		hostile.UnframedEnd, hostile.RapidReset, hostile.RetryOdd, hostile.HangUp, hostile.NoHandshake, hostile.SlowHeader,
		hostile.GoAwayLower:
		if once {
			return nil
		}
		return []int{exitNetwork, exitProtocol, exitResponse}
	case hostile.WholeForRange, hostile.ChunkedWhole:
		if once || c.Where == hostile.PlaceStart {
			return nil
		}
		return []int{exitProtocol}
	case hostile.NoContentRange, hostile.WrongStart, hostile.RangeUnit, hostile.RangeStar, hostile.RangeSpaces, hostile.PartAsWhole,
		hostile.RangeOverflow:
		if c.Where == hostile.PlaceStart { // from the first answer on: the object comes without Range
			return nil
		}
		return []int{exitNetwork, exitProtocol, exitResponse}
	case hostile.Drip, hostile.RetryLong:
		return []int{exitNetwork, exitResponse}
	case hostile.Status401:
		return []int{exitAuth}
	case hostile.Status403, hostile.Status404, hostile.Status416, hostile.Escapes, hostile.Status204, hostile.Status304, hostile.Status412,
		hostile.Status511:
		return []int{exitResponse, exitProtocol}
	case hostile.EndlessRedirects, hostile.RedirectLoop, hostile.RedirectFile, hostile.RedirectCookie, hostile.RedirectPingPong:
		return []int{exitProtocol, exitResponse}
	case hostile.Corrupt:
		return []int{exitChecksum}
	case hostile.BadCert:
		return []int{exitTLS}
	case hostile.HTTP10PlainCut, hostile.WholeUnframedEnd, hostile.PortalPage, hostile.PortalRedirect, hostile.CutCache,
		hostile.EmptyRange, hostile.EmptyWhole, hostile.SmallPart:
		return []int{exitNetwork, exitProtocol, exitResponse, exitChecksum}
	default:
		return []int{exitNetwork, exitProtocol, exitResponse}
	}
}
