package scheduler

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// wanted is what a batch's driver wants and has not got: the model that a Core's
// Core is held against.
type wanted struct {
	pieces []Range
	left   []Range // sorted, disjoint, joined
}

func (w *wanted) end() int64 {
	if n := len(w.pieces); n > 0 {
		return w.pieces[n-1].End
	}
	return 0
}

func (w *wanted) add(p Piece) {
	w.pieces = append(w.pieces, p.Range)
	w.left = joined(append(w.left, p.Range))
}

func (w *wanted) clear(r Range) {
	var left []Range
	for _, l := range w.left {
		for _, rest := range [...]Range{{l.Off, min(l.End, r.Off)}, {max(l.Off, r.End), l.End}} {
			if !rest.Empty() {
				left = append(left, rest)
			}
		}
	}
	w.left = joined(left)
}

// covers says whether all of r is wanted, and lies in one piece.
func (w *wanted) covers(r Range) bool {
	holds := func(o Range) bool { return o.Off <= r.Off && r.End <= o.End }
	return !r.Empty() && slices.ContainsFunc(w.left, holds) && slices.ContainsFunc(w.pieces, holds)
}

// joined joins what is sorted.
func joined(all []Range) (out []Range) {
	for _, r := range all {
		if n := len(out); n > 0 && out[n-1].End == r.Off {
			out[n-1].End = r.End
		} else {
			out = append(out, r)
		}
	}
	return out
}

// FuzzBatch gives a batch's Core arbitrary inputs, and checks after each that what
// is free or asked for is exactly what is wanted, once.
func FuzzBatch(f *testing.F) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 5))
		data := make([]byte, 1200)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f.Add(uint8(seed*37), data)
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		p, err := NewPolicy(Names()[int(which)%len(Names())], 4<<20, 0.3)
		if err != nil {
			t.Fatal(err)
		}
		c, err := New(Config{Links: 3, Policy: p, Batch: true, NoSteal: which&64 != 0, First: 1 << 10})
		if err != nil {
			t.Fatal(err)
		}
		b := &batchFuzz{t: t, c: c, asked: map[ChunkID]Action{}}
		for len(data) >= 8 && !b.complete {
			b.input(data[:8])
			data = data[8:]
		}
		b.finish()
	})
}

type batchFuzz struct {
	t        *testing.T
	c        *Core
	w        wanted
	now      Time
	asked    map[ChunkID]Action
	told     bool
	complete bool
}

func (b *batchFuzz) input(d []byte) {
	b.now += Time(d[1]) * Millisecond
	n := int64(binary.LittleEndian.Uint16(d[2:]))
	in := Input{Link: LinkID(d[4] % 4), Chunk: -1}
	end := b.w.end()
	switch d[0] % 16 {
	case 0, 1, 2, 3:
		in.Kind = Added
		off := end + int64(d[5]&1)*n/7
		in.Piece = Piece{Range: Range{off, off + 1 + n<<5>>(d[5]>>4)}, File: int32(d[6] >> 2), Class: Class(d[6] % MaxClasses), Guess: d[5]&2 != 0}
		b.w.add(in.Piece)
	case 4:
		in.Kind = Voided
		off := n * max(1, end) >> 16
		in.Piece.Range = Range{off, off + int64(d[5])*int64(d[6])}
		b.w.clear(in.Piece.Range)
	case 5:
		in.Kind = Expected
		in.Bytes = n << 4
		if d[5] < 64 {
			in.Bytes = 0
		}
	case 6:
		in.Kind = Planned
		in.Plan = &Plan{Files: int(d[5] & 3)}
		for k := range MaxClasses {
			in.Plan.Classes[k] = Share{Connections: int(d[5+k%3]>>2) % 8, Parallelism: int(d[6] & 3), Pipelining: int(d[7] & 3)}
		}
	case 7, 8:
		in.Kind = LinkUp
	case 9:
		in.Kind = LinkDown
	case 10, 11:
		in.Kind = Tick
	default:
		in.Kind = [...]InputKind{Progress, Finished, Failed, Progress}[d[0]%4]
		in.RTT = Time(d[5]) * Millisecond
		var ids []ChunkID
		for id := range b.asked {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		if len(ids) == 0 {
			break
		}
		in.Chunk = ids[int(d[6])%len(ids)]
		in.Bytes = n * b.asked[in.Chunk].Range.Len() >> 15
	}
	b.tell(in)
}

func (b *batchFuzz) tell(in Input) {
	if a, ok := b.asked[in.Chunk]; ok && (in.Kind == Progress || in.Kind == Finished || in.Kind == Failed) {
		b.receive(a, in)
	}
	b.told = b.told || in.Kind == Expected
	for _, a := range b.c.Step(b.now, in, nil) {
		switch a.Kind {
		case Start:
			b.start(a)
		case Shrink:
			was, ok := b.asked[a.Chunk]
			if !ok || a.Range.Off != was.Range.Off || a.Range.End >= was.Range.End || a.Range.Empty() {
				b.t.Fatalf("%+v of %+v", a, was)
			}
			was.Range = a.Range
			b.asked[a.Chunk] = was
		case Cancel:
			was, ok := b.asked[a.Chunk]
			if !ok {
				b.t.Fatalf("%+v is not in flight", a)
			}
			if was.Copy && !a.Range.Empty() {
				b.t.Fatalf("%+v counts, though it is a copy", a)
			}
			delete(b.asked, a.Chunk)
		case Complete:
			if b.complete || !b.told {
				b.t.Fatal("it is complete twice, or before anybody said that this is all")
			}
			b.complete = true
		default:
		}
	}
	b.check()
}

// receive books what a request has received. A copy's counts once it is finished.
func (b *batchFuzz) receive(a Action, in Input) {
	got := min(in.Bytes, a.Range.Len())
	i := b.c.flight.find(a.Chunk)
	got = max(got, b.c.flight.chunks[i].got)
	if !a.Copy {
		b.w.clear(Range{a.Range.Off, a.Range.Off + got})
	} else if in.Kind == Finished {
		b.w.clear(Range{a.Range.Off, a.Range.Off + got})
	}
	if in.Kind != Progress {
		delete(b.asked, a.Chunk)
	}
}

func (b *batchFuzz) start(a Action) {
	t := b.t
	if !b.w.covers(a.Range) {
		t.Fatalf("%+v: not all of it is wanted, or in one piece", a)
	}
	b.asked[a.Chunk] = a
}

// check holds the Core's account against the model's.
func (b *batchFuzz) check() {
	t, c := b.t, b.c
	s := &c.freeMap
	var known []Range
	mark := func(r Range) {
		if !r.Empty() {
			known = append(known, r)
		}
	}
	queues := make([][MaxStreams]queue, len(c.links))
	pending, over := make([]int64, len(c.links)), make([]int64, len(c.links))
	owed, chunks := make([]int64, len(s.files)), make([]int32, len(s.files))
	guesses, unconfirmed, guessed := 0, 0, int64(0)
	for i := range c.flight.chunks {
		ch := &c.flight.chunks[i]
		if a, ok := b.asked[ch.id]; !ok || a.Range != ch.rng {
			t.Fatalf("chunk %d is %v, and was asked for as %+v", ch.id, ch.rng, a)
		}
		over[ch.link] += ch.over
		chunks[ch.slot]++
		q := &queues[ch.link][ch.stream]
		q.requests++
		if ch.copy {
			continue
		}
		owed[ch.slot] += ch.left()
		pending[ch.link] += ch.left()
		q.pending += ch.left() - ch.over
		mark(ch.rest())
	}
	for k := range s.fresh {
		for _, sh := range [...]*freeList{&s.fresh[k], &s.open[k]} {
			at, bytes := int64(-1), int64(0)
			for _, p := range sh.live() {
				if p.Empty() || p.Off < at {
					t.Fatalf("%v follows %d", p.Range, at)
				}
				at = p.End
				bytes += p.Len()
				mark(p.Range)
				if p.guess && p.unconfirmed() {
					unconfirmed++
				} else if p.guess {
					guesses++
					guessed += p.Len()
				}
				if sh == &s.open[k] {
					owed[p.slot] += p.Len()
				} else if p.slot != noSlot {
					t.Fatalf("%+v is in progress", p)
				}
			}
			if bytes != sh.bytes {
				t.Fatalf("a shelf has %d bytes, and thinks %d", bytes, sh.bytes)
			}
		}
	}
	sortRanges(known)
	if got := joined(known); !slices.Equal(got, b.w.left) {
		t.Fatalf("%v are free or asked for, but %v wanted", got, b.w.left)
	}
	active := 0
	for i := range s.files {
		if s.files[i].owed != owed[i] || s.files[i].chunks != chunks[i] {
			t.Fatalf("slot %d: %+v, but %d bytes are owed by %d requests", i, s.files[i], owed[i], chunks[i])
		}
		if s.files[i].busy() {
			active++
			if s.find(s.files[i].file) != int32(i) {
				t.Fatalf("file %d is not found in slot %d", s.files[i].file, i)
			}
		}
	}
	if guesses != s.guesses.parts || unconfirmed != s.guesses.unconfirmed.parts || guessed != s.guesses.bytes || len(s.spare)+active != len(s.files) || len(s.slots) != active {
		t.Fatalf("%d of %d files in progress, %d guesses of %d bytes: %+v", active, len(s.files), guesses, guessed, s)
	}
	for i := range c.links {
		if c.links[i].load.queues != queues[i] {
			t.Fatalf("link %d: its connections have been asked for %+v, but %+v", i, queues[i], c.links[i].load.queues)
		}
		if l := &c.links[i]; l.load.pending != pending[i] || l.load.over != over[i] {
			t.Fatalf("link %d: %d bytes pending, %d unlikely, but %d and %d", i, l.load.pending, l.load.over, pending[i], over[i])
		}
	}
	if got := c.Missing(Range{0, unsized}, nil); !slices.Equal(got, b.w.left) {
		t.Fatalf("missing are %v, not %v", got, b.w.left)
	}
}

// finish brings everything to its end: what was Added and not Voided must come.
func (b *batchFuzz) finish() {
	b.tell(Input{Kind: Expected})
	for round := 0; !b.complete; round++ {
		if round > 20000 {
			b.t.Fatalf("it does not end: %v missing, %d files in progress", b.c.Missing(Range{0, unsized}, nil), len(b.c.freeMap.slots))
		}
		b.now += 100 * Millisecond
		b.tell(Input{Kind: LinkUp, Link: LinkID(round % 3)})
		var first Action
		first.Chunk = -1
		for id, a := range b.asked {
			if first.Chunk < 0 || id < first.Chunk {
				first = a
			}
		}
		if first.Chunk >= 0 {
			b.tell(Input{Kind: Finished, Link: first.Link, Chunk: first.Chunk, Bytes: 1 << 40})
		}
		if !b.complete {
			b.tell(Input{Kind: Tick})
		}
	}
	if b.c.Left() != 0 {
		b.t.Fatalf("complete, with %d bytes left", b.c.Left())
	}
}
