package adversary

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Generate makes the history of a seed. Half of them have an anchor.
func Generate(seed uint64) *World {
	g := generator{rand.New(rand.NewPCG(seed, 0xad))} //nolint:gosec // to be repeated, not to be secret
	w := &World{
		Seed: seed, HTTP2: g.once(0.3), Anchor: -1, Parallelism: 1, Tries: 20,
		Algorithm: "3", StaticLimit: 4 << 20,
	}
	switch g.IntN(20) {
	case 0, 1, 2:
		w.Mode = Stream
	case 3, 4, 5, 6, 7:
		w.Mode = List
	}
	if g.once(0.4) {
		w.Algorithm, w.StaticLimit = "1", g.log(32<<10, 1<<20)
	} else if g.once(0.2) {
		w.Algorithm = pick(g, "single", "naive", "2", "3")
	}
	if g.once(0.2) {
		w.Parallelism = pick(g, 0, 2, 3)
	}
	g.files(w)
	g.runs(w)
	links := pick(g, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3)
	if g.once(0.5) {
		g.anchored(w, links)
	} else {
		g.wild(w, links)
	}
	g.foreign(w)
	// Drawn by themselves, so that what is added here makes no other histories of the seeds.
	generator{rand.New(rand.NewPCG(seed, 0xae))}.more(w) //nolint:gosec // as above
	generator{rand.New(rand.NewPCG(seed, 0xaf))}.rare(w) //nolint:gosec // as above
	return w
}

// more adds how runs end, who reads, and when servers close.
func (g generator) more(w *World) {
	for i := range len(w.Runs) - 1 {
		w.Runs[i].Killed = g.once(0.3)
	}
	if w.Mode == Stream && g.once(0.4) {
		w.Consumer = float64(g.log(20<<10, 4<<20))
	}
	lying := slices.ContainsFunc(w.Edges, func(e Edge) bool {
		return slices.ContainsFunc(e.Faults, func(f Fault) bool { return f.Kind >= Empty416 })
	}) || slices.ContainsFunc(w.Links, func(l Link) bool { return l.Portal != 0 })
	for i := range w.Edges {
		e := &w.Edges[i]
		if g.once(0.1) {
			e.Idle = g.between(10*time.Millisecond, 20*time.Second)
		}
		if w.Anchor < 0 && g.once(0.08) { // nothing but the last chunk tells the end
			e.Ranges, e.Framing = RangesNever, Chunked
			e.Faults = append([]Fault{{Kind: CutBody, File: -1, First: g.IntN(3), Count: 1, N: g.log(1, 100<<10)}}, e.Faults...)
		}
		// Whoever waits for such a server gets no answer in time.
		e.OneByOne = g.once(0.03) && (!lying || w.Anchor < 0)
		if lying && w.Anchor >= 0 && e.Ranges == RangesDropped {
			e.Ranges = RangesBad // that is no answer, either
		}
	}
	if w.Anchor < 0 {
		return
	}
	for _, l := range w.Links {
		if slices.ContainsFunc(l.Edges, func(i int) bool { return w.Edges[i].OneByOne }) {
			for _, i := range l.Edges {
				w.Edges[i].Redirects = false // to another name: no client knows that it is the same server
			}
		}
	}
}

// rare makes some histories ones that hardly come about otherwise, so that each of what the
// engine knows of servers is needed in one of a thousand.
func (g generator) rare(w *World) {
	anchored := w.Anchor >= 0
	switch honest := anchored && !w.Ambiguous; {
	case w.Foreign != nil && honest && g.once(0.3): // more than once for what is missing
		for _, i := range w.Links[w.Anchor].Edges {
			e := &w.Edges[i]
			e.Ranges, e.After, e.Most = RangesCapped, 0, max(g.log(1<<10, 64<<10), w.Files[0].Versions[0].Size/50)
		}
	case len(w.Links) == 1 && !anchored && w.Mode != List && !w.HTTP2 && g.once(0.2): // the rest of a body, and less than was there
		n := g.log(2, 400<<10)
		for i := range w.Edges {
			e := &w.Edges[i]
			e.Ranges, e.Framing, e.Turns, e.Changes, e.Idle = RangesNever, Chunked, nil, nil, 0
			e.Faults = []Fault{{Kind: CutBody, File: -1, Count: 1, N: n}, {Kind: ShortEnd, File: -1, First: 1, Count: 1, N: max(1, n/2)}}
		}
		w.Links[0].Edges = w.Links[0].Edges[:1]
	case len(w.Runs) > 1 && w.Mode == Single && !w.SameSecond && g.once(0.1): // what was resumed is of another object
		w.resumed(g)
	case anchored && !w.HTTP2 && g.once(0.03):
		for _, i := range w.Links[w.Anchor].Edges {
			w.Edges[i].OneByOne, w.Edges[i].Redirects = true, false
		}
	}
	for i := range w.Edges {
		if e := &w.Edges[i]; e.Ranges == RangesCapped && w.Foreign == nil && g.once(0.5) {
			e.After = 1 + g.IntN(4)
		}
	}
}

// resumed makes a history of servers that show nothing but a date, and of objects of one size
// and date: the last run goes on with what is there of the first one.
func (w *World) resumed(g generator) {
	w.SameSecond, w.Anchor, w.Ambiguous = true, 0, false
	f := &w.Files[0]
	f.Versions = []Version{f.Versions[0], f.Versions[0]}
	f.Versions[1].Tag += "b"
	f.Versions[0].Size = max(f.Versions[0].Size, 200<<10)
	f.Versions[1].Size = f.Versions[0].Size
	w.Runs = []Run{{Interrupt: g.between(50*time.Millisecond, 2*time.Second), Killed: g.once(0.3)}, {}}
	for i := range w.Edges {
		w.Edges[i] = Edge{Shows: []Shown{ShowDate}, Changes: []Change{{Run: 1, Version: 1}}, KeepAlive: w.Edges[i].KeepAlive}
	}
	for i := range w.Links {
		l := &w.Links[i]
		*l = Link{Rate: min(l.Rate, 500<<10), Latency: l.Latency, Edges: l.Edges}
	}
}

type generator struct{ *rand.Rand }

func (g generator) once(p float64) bool { return g.Float64() < p }

// log is between least and most, evenly in its logarithm.
func (g generator) log(least, most int64) int64 {
	return int64(float64(least) * math.Exp(g.Float64()*math.Log(float64(most)/float64(least))))
}

func (g generator) between(least, most time.Duration) time.Duration {
	return time.Duration(g.log(int64(least), int64(most)))
}

func pick[T any](g generator, of ...T) T { return of[g.IntN(len(of))] }

func (g generator) size() int64 {
	switch n := g.IntN(100); {
	case n < 4:
		return 0
	case n < 14:
		return g.log(1, 4<<10)
	case n < 40:
		return g.log(4<<10, 64<<10)
	case n < 88:
		return g.log(64<<10, 400<<10)
	case n < 98:
		return g.log(400<<10, 1500<<10)
	}
	return g.log(1500<<10, 5<<20)
}

func (g generator) files(w *World) {
	n := 1
	if w.Mode == List {
		n = 2 + g.IntN(4)
	}
	versions := pick(g, 1, 2, 2, 3)
	w.SameSecond = versions > 1 && g.once(0.08)
	for f := range n {
		file := File{}
		size := g.size()
		for v := range versions {
			if v > 0 && g.once(0.35) {
				size = g.size()
			}
			at := time.Date(2024, 5, 1+v, 10+f, 0, 0, 0, time.UTC)
			if w.SameSecond {
				at = time.Date(2024, 5, 1, 10+f, 0, 0, 0, time.UTC)
			}
			file.Versions = append(file.Versions, Version{Size: size, Tag: fmt.Sprintf("f%dv%d", f, v), Modified: at})
		}
		w.Files = append(w.Files, file)
	}
}

func (g generator) runs(w *World) {
	if w.Mode != Stream && g.once(0.35) {
		for range 1 + g.IntN(3) {
			w.Runs = append(w.Runs, Run{Interrupt: g.between(5*time.Millisecond, 4*time.Second)})
		}
	}
	w.Runs = append(w.Runs, Run{})
}

func (g generator) foreign(w *World) {
	if w.Mode != Single || !g.once(0.07) {
		return
	}
	v := 0
	if !g.once(0.6) {
		v = g.IntN(len(w.Files[0].Versions))
	}
	if size := w.Files[0].Versions[v].Size; size > 0 {
		w.Foreign = &Foreign{Version: v, Size: 1 + g.Int64N(size)}
	}
}

// shows are validators by turns: often the same ones each time, as servers do.
func (g generator) shows() []Shown {
	one := func() Shown {
		return pick(g, ShowTag|ShowDate, ShowTag|ShowDate, ShowTag, ShowDate, ShowWeak|ShowDate, ShowWeak, 0)
	}
	n := 1
	if g.once(0.5) {
		n = 2 + g.IntN(3)
	}
	shows := make([]Shown, n)
	for i := range shows {
		shows[i] = one()
	}
	return shows
}

// honest is a server of one version, with the habits that servers have.
func (g generator) honest(version int) Edge {
	e := Edge{Shows: g.shows(), EmptyOK: g.once(0.5)}
	if version > 0 {
		e.Changes = []Change{{Version: version}}
	}
	switch g.IntN(12) {
	case 0:
		e.Ranges = RangesNever
	case 1:
		e.Ranges, e.After = RangesEnd, 1+g.IntN(4)
	case 2:
		e.Ranges, e.Most = RangesCapped, g.log(16<<10, 256<<10)
	case 3:
		e.Ranges = RangesBad + RangeHabit(g.IntN(int(RangesTags-RangesBad)+1))
	}
	switch g.IntN(8) {
	case 0, 1:
		e.Framing = Chunked
	case 2:
		e.Framing = UntilClose
	}
	if g.once(0.2) {
		e.KeepAlive = 1 + g.IntN(4)
	}
	if g.once(0.08) {
		e.Conns, e.Refusal = 1+g.IntN(2), pick(g, 403, 429, 503)
	}
	e.Redirects = g.once(0.1)
	if g.once(0.05) {
		e.Success = pick(g, 201, 203, 226)
	}
	return e
}

// accidents are what happens to the best of servers, now and then. With answering, each
// answer begins in time all the same.
func (g generator) accidents(framing Framing, answering bool) []Fault {
	var faults []Fault
	for range g.IntN(4) {
		f := Fault{File: -1, First: g.IntN(5), Count: 1}
		f.Kind = pick(g, ResetBody, CutBody, StallBody)
		if !answering && g.once(0.6) {
			f.Kind = pick(g, ResetFirst, CloseFirst, Status, Status, Delay, Silence)
		}
		if f.Kind == CutBody && framing == UntilClose {
			f.Kind = ResetBody
		}
		f.N = g.log(1, 300<<10)
		if f.Kind == Status {
			f.N, f.Wait = pick[int64](g, 503, 429, 503), pick(g, time.Second, 2*time.Second)
		}
		if f.Kind == Delay {
			f.Wait = g.between(50*time.Millisecond, 20*time.Second)
		}
		faults = append(faults, f)
	}
	return faults
}

// anchored makes a history whose first link, or another one, leads to honest servers.
func (g generator) anchored(w *World, links int) {
	w.Anchor = g.IntN(links)
	changed := len(w.Runs) > 1 && g.once(0.3) // before the last run
	lying := false
	for i := range links {
		if i == w.Anchor {
			w.Links = append(w.Links, Link{Rate: float64(g.log(1<<20, 20<<20)), Latency: g.between(500*time.Microsecond, 80*time.Millisecond)})
			continue
		}
		l := g.path()
		edge := g.honest(0)
		forever := func(kinds ...FaultKind) []Fault {
			return []Fault{{Kind: pick(g, kinds...), File: -1, N: g.log(1, 100<<10)}}
		}
		switch g.IntN(16) {
		case 0, 1, 2: // leads to honest servers, too, with more accidents
			edge.Faults = g.accidents(edge.Framing, false)
			g.trouble(&l)
		case 3:
			l.Refused = -1
		case 4:
			l.NoName = -1
		case 5:
			l.Outages = []Outage{{g.between(time.Millisecond, time.Second), 10 * time.Hour}}
		case 6:
			edge.Faults = []Fault{{Kind: Status, File: -1, First: pick(g, 0, 0, 1, 2), N: pick[int64](g, 500, 503, 403, 404, 429, 401, 410)}}
		case 7:
			edge.Faults = forever(ResetFirst, CloseFirst, Silence, StallBody, ResetBody)
		case 8, 9, 10:
			lying = true
			edge.Faults = forever(Empty416, Empty200, NoContent)
			if w.Mode != List {
				edge.Faults[0].First = pick(g, 0, 0, 0, 1, 2)
			}
		case 11, 12:
			lying = true
			if g.once(0.5) {
				l.Portal = pick(g, PortalPage, PortalMove)
				break
			}
			edge.Faults = forever(PortalPage, PortalMove)
			if w.Mode != List {
				edge.Faults[0].First = pick(g, 0, 0, 0, 1, 2)
			}
		case 13:
			lying, w.Ambiguous = true, true
			edge.Faults = forever(Small206)
		case 14:
			lying, w.Ambiguous = true, true
			edge.Faults = forever(WrongTotal, ShortEnd, Wrong416)
			if edge.Faults[0].Kind == WrongTotal && g.once(0.5) {
				edge.Faults[0].N *= -1
			}
		case 15:
			w.Ambiguous = true
			edge = g.honest(1)
		}
		l.Edges = []int{len(w.Edges)}
		w.Edges = append(w.Edges, edge)
		w.Links = append(w.Links, l)
	}
	a := &w.Links[w.Anchor]
	for range 1 + g.IntN(2) {
		edge := g.honest(0)
		if g.once(0.5) {
			edge.Faults = g.accidents(edge.Framing, lying)
		}
		if len(a.Edges) > 0 { // servers of one site are of one kind
			first := &w.Edges[a.Edges[0]]
			edge.Ranges, edge.After, edge.Most = first.Ranges, first.After, first.Most
		}
		a.Edges = append(a.Edges, len(w.Edges))
		w.Edges = append(w.Edges, edge)
	}
	for _, e := range w.Edges {
		// "Every answer is held against all that is known of the object" (docs/SECURITY.md), also
		// where a stream's first bytes have been handed on.
		if e.Ranges == RangesTags && (len(w.Edges) > 1 || w.Mode == Stream) {
			w.Ambiguous = true
		}
	}
	if changed {
		for i := range w.Edges {
			w.Edges[i].Changes = []Change{{Run: len(w.Runs) - 1, Version: 1}}
		}
	}
}

// path is a link as they are.
func (g generator) path() Link {
	return Link{Rate: float64(g.log(20<<10, 20<<20)), Latency: g.between(500*time.Microsecond, 300*time.Millisecond)}
}

// trouble adds what happens on the way.
func (g generator) trouble(l *Link) {
	switch g.IntN(5) {
	case 0:
		l.Refused = 1 + g.IntN(4)
	case 1:
		l.NoName = 1 + g.IntN(3)
	case 2:
		from := g.between(time.Millisecond, 3*time.Second)
		l.Outages = []Outage{{from, from + g.between(50*time.Millisecond, 60*time.Second)}}
	case 3:
		l.Cut = g.log(1<<10, 1<<20)
	}
}

// wild makes a history in which anything may happen.
func (g generator) wild(w *World, links int) {
	versions := len(w.Files[0].Versions)
	for range 1 + g.IntN(3) {
		e := g.honest(g.IntN(versions))
		switch g.IntN(4) {
		case 0:
			for range 1 + g.IntN(2) {
				e.Changes = append(e.Changes, Change{Run: g.IntN(len(w.Runs)), At: g.between(time.Millisecond, 2*time.Second), Version: g.IntN(versions)})
			}
		case 1:
			for range 2 + g.IntN(4) {
				e.Turns = append(e.Turns, g.IntN(versions))
			}
		}
		if g.once(0.05) {
			e.TagSuffix = fmt.Sprint("-", len(w.Edges))
		}
		e.Faults = g.accidents(e.Framing, false)
		for range pick(g, 0, 0, 0, 1, 1, 2) {
			f := Fault{Kind: FaultKind(g.IntN(int(PortalMove) + 1)), File: -1, First: pick(g, 0, 0, 1, 2, 3), Count: pick(g, 0, 1, 1, 2)}
			if len(w.Files) > 1 && g.once(0.5) {
				f.File = g.IntN(len(w.Files))
			}
			f.N, f.Wait = g.log(1, 200<<10), g.between(time.Millisecond, 10*time.Second)
			if f.Kind == Status {
				f.N = pick[int64](g, 400, 401, 403, 404, 429, 500, 502, 503)
				f.Wait = 0
			}
			if f.Kind == WrongTotal && g.once(0.5) {
				f.N *= -1
			}
			e.Faults = append(e.Faults, f)
		}
		w.Edges = append(w.Edges, e)
	}
	for range links {
		l := g.path()
		for range 1 + g.IntN(2) {
			l.Edges = append(l.Edges, g.IntN(len(w.Edges)))
		}
		if g.once(0.3) {
			g.trouble(&l)
		}
		if g.once(0.04) {
			l.Portal = pick(g, PortalPage, PortalMove)
		}
		w.Links = append(w.Links, l)
	}
}
