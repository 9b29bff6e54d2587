package faults

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/linklab/hostile"
)

// Family is where a fault comes from.
type Family string

// The families.
const (
	OfLink   Family = "link"
	OfServer Family = "server"
)

// LinkFault is what happens to the first link, or to all of them.
type LinkFault string

// The faults of links, in the order of tables.
const (
	LinkDown       LinkFault = "down"            // no carrier, for good
	LinkUpAgain    LinkFault = "up-again"        // silence of a second
	AddressChanged LinkFault = "address-changed" // the device goes, and comes back with another address
	RouteLost      LinkFault = "route-lost"      // the default routes go
	RateZero       LinkFault = "rate-zero"       // 10 kbit/s from then on
	Loss           LinkFault = "loss-5"          // 5 % of packets in each direction
	Latency        LinkFault = "latency-2s"      // a round trip of 2 s
	BlackHole      LinkFault = "black-hole"      // silence, for good
	LinkReset      LinkFault = "rst"             // all connections are reset
	HalfOpen       LinkFault = "half-open"       // the server has forgotten all connections, and could not say so
	MTUHole        LinkFault = "mtu-1200"        // larger packets vanish, for good, without an ICMP message
	Deaf           LinkFault = "deaf"            // nothing arrives any more, all that is sent does
	Dumb           LinkFault = "dumb"            // nothing that is sent arrives, all else does
	Twice          LinkFault = "duplicates"      // 30 % of the packets come twice
	Late           LinkFault = "reordered"       // 10 % of the packets come five too late
	Scrambled      LinkFault = "scrambled"       // of every 500 segments one has wrong bytes and a right checksum
	Flaps          LinkFault = "flaps"           // the carrier goes and comes, twice a second, for five seconds
	Stutters       LinkFault = "stutters"        // silence and none, twice a second, for five seconds
	Seesaw         LinkFault = "seesaw"          // 50 kbit/s and 20 Mbit/s, twice a second, for five seconds
	MovesTwice     LinkFault = "moves-twice"     // address-changed, and again as soon as it is back
	LossyUp        LinkFault = "lossy-up"        // half of what is sent is lost, nothing of what comes
	NoNew          LinkFault = "no-new"          // no new connection comes about, those that there are live on
	Unreachable    LinkFault = "unreachable"     // half of what is sent is answered by "host unreachable"
)

func linkFaults() []LinkFault {
	return []LinkFault{
		LinkDown, LinkUpAgain, AddressChanged, RouteLost, RateZero, Loss, Latency, BlackHole, LinkReset, HalfOpen,
		MTUHole, Deaf, Dumb, Twice, Late, Scrambled, Flaps, Stutters, Seesaw, MovesTwice, LossyUp, NoNew, Unreachable,
	}
}

// Protocol is what is spoken.
type Protocol string

// The protocols.
const (
	HTTP1    Protocol = "1.1"
	HTTP1TLS Protocol = "1.1-tls"
	HTTP2    Protocol = "2" // by prior knowledge
	HTTP2TLS Protocol = "2-tls"
)

// TLS says whether it is over TLS.
func (p Protocol) TLS() bool { return p == HTTP1TLS || p == HTTP2TLS }

// Two says whether it is HTTP/2.
func (p Protocol) Two() bool { return p == HTTP2 || p == HTTP2TLS }

// Cell is one combination of the matrix.
type Cell struct {
	Family   Family
	Kind     string // a LinkFault or a hostile.Kind
	Where    hostile.Place
	Protocol Protocol
	Links    int
	Edge     bool // of a server: only what answers over the first link is bad
	Always   bool // of a server: from then on, instead of once
	All      bool // of a link: all links fail, not the first one only
	Files    int  // how many are downloaded at once, from a list; 0: one, by its URL
}

// String names the cell: link/black-hole/tail/2-tls/3, where all links fail with
// /all at the end, server/truncated/middle/1.1/2/edge/once, and with a list of
// files at the end /files.
func (c Cell) String() string {
	s := fmt.Sprintf("%s/%s/%s/%s/%d", c.Family, c.Kind, c.Where, c.Protocol, c.Links)
	if c.Family == OfServer {
		edge, times := "all", "once"
		if c.Edge {
			edge = "edge"
		}
		if c.Always {
			times = "always"
		}
		s += "/" + edge + "/" + times
	}
	if c.All {
		s += "/all"
	}
	if c.Files > 0 {
		s += "/files"
	}
	return s
}

// Matrix is all cells, in the order of tables.
func Matrix() []Cell {
	var all []Cell
	for _, f := range linkFaults() {
		for _, where := range []hostile.Place{
			hostile.PlaceTLS, hostile.PlaceRedirect, hostile.PlaceStart, hostile.PlaceMiddle, hostile.PlaceTail,
		} {
			protocols := []Protocol{HTTP1, HTTP1TLS, HTTP2, HTTP2TLS}
			if where == hostile.PlaceTLS {
				protocols = []Protocol{HTTP1TLS, HTTP2TLS}
			}
			for _, p := range protocols {
				c := Cell{Family: OfLink, Kind: string(f), Where: where, Protocol: p}
				for c.Links = 1; c.Links <= 3; c.Links++ {
					all = append(all, c)
				}
				if p == HTTP1 || p == HTTP2TLS || where == hostile.PlaceTLS {
					c.Links, c.All = 2, true
					all = append(all, c)
				}
			}
		}
	}
	for _, t := range hostile.Kinds() {
		all = append(all, ofServer(t)...)
	}
	for _, c := range all {
		if c.withFiles() {
			c.Files = listFiles
			all = append(all, c)
		}
	}
	return all
}

// listFiles is how many files a list has.
const listFiles = 6

// withFiles says whether there is a cell like this one with many files: not for
// every protocol and place.
func (c Cell) withFiles() bool {
	switch {
	case c.Protocol == HTTP1TLS && !hostile.TraitsOf(hostile.Kind(c.Kind)).TLS, c.Protocol == HTTP2, c.Links == 3, c.All:
		return false
	case c.expect().checksum: // it is one file's
		return false
	case c.Where != hostile.PlaceStart && c.lies(): // both links have agreed about a file by then: each is believed
		return false
	case c.Family == OfLink:
		return c.Where != hostile.PlaceTLS
	}
	return c.Where == hostile.PlaceMiddle || c.lies() || hostile.TraitsOf(hostile.Kind(c.Kind)).Nature
}

// lies says whether a network says something of the size that is not so.
func (c Cell) lies() bool {
	k := hostile.Kind(c.Kind)
	return k == hostile.EmptyRange || k == hostile.EmptyWhole || k == hostile.SmallPart
}

// ofServer is all cells of a server's fault.
func ofServer(t hostile.Traits) []Cell {
	var all []Cell
	places, times := []hostile.Place{hostile.PlaceStart, hostile.PlaceMiddle, hostile.PlaceTail}, []bool{false, true}
	if t.Nature {
		places, times = places[:1], times[1:]
	}
	for _, where := range places {
		for _, p := range protocolsOf(t) {
			for _, at := range []struct {
				links int
				edge  bool
			}{{1, false}, {2, false}, {2, true}} {
				if at.edge && (t.Kind == hostile.ChangedETag || t.Kind == hostile.ChangedSize) {
					continue // an object changes for everybody
				}
				for _, always := range times {
					all = append(all, Cell{
						Family: OfServer, Kind: string(t.Kind), Where: where, Protocol: p, Links: at.links, Edge: at.edge, Always: always,
					})
				}
			}
		}
	}
	return all
}

// protocolsOf are those that a server's fault is tried with.
func protocolsOf(t hostile.Traits) []Protocol {
	var all []Protocol
	switch {
	case t.TLS:
		all = append(all, HTTP1TLS)
	case t.HTTP1:
		all = append(all, HTTP1)
	}
	if t.HTTP2 {
		all = append(all, HTTP2TLS)
	}
	return all
}

// Choose takes n of the cells at random, every kind of fault at least once.
func Choose(cells []Cell, seed uint64, n int) []Cell {
	rng := rand.New(rand.NewPCG(seed, 8))
	var first, rest []Cell
	seen := map[string]bool{}
	for _, i := range rng.Perm(len(cells)) {
		c := cells[i]
		kind := string(c.Family) + c.Kind
		if seen[kind] {
			rest = append(rest, c)
			continue
		}
		seen[kind] = true
		first = append(first, c)
	}
	all := append(first, rest...)
	return all[:min(len(all), max(n, len(first)))]
}

// Matching are the cells whose names hold one of the parts, in which * stands for
// anything.
func Matching(cells []Cell, parts []string) []Cell {
	var some []Cell
	for _, c := range cells {
		if slices.ContainsFunc(parts, func(p string) bool { return holds(c.String(), p) }) {
			some = append(some, c)
		}
	}
	return some
}

func holds(name, part string) bool {
	for piece := range strings.SplitSeq(part, "*") {
		_, rest, ok := strings.Cut(name, piece)
		if !ok {
			return false
		}
		name = rest
	}
	return true
}
