package scheduler

// learnSizes learns files' sizes from a range that is about to be voided: a file of unknown size
// ends where its voided end begins.
func (f *flight) learnSizes(r Range) {
	for i := range f.chunks {
		if ch := &f.chunks[i]; ch.guess && !ch.piece.within(r).Empty() {
			if r.Off > ch.piece.Off {
				f.freeMap.guesses.learn(ch.piece.Len(), r.Off-ch.piece.Off)
			}
			f.resolve(ch.piece)
		}
	}
	s := f.freeMap
	for k := range s.open {
		for _, p := range s.open[k].live() {
			if p.guess && !p.piece.within(r).Empty() {
				f.resolve(p.piece)
			}
		}
	}
}

// resolve notes that the size of a piece's file is known: the free map and the requests take its
// bytes for certain.
func (f *flight) resolve(piece Range) {
	f.freeMap.resolve(piece)
	for i := range f.chunks {
		if ch := &f.chunks[i]; ch.guess && ch.piece == piece {
			f.confirmSize(ch)
		}
	}
}

// void shortens or withdraws the requests for bytes that are no longer wanted.
func (f *flight) void(r Range, out []Action) []Action {
	for i := len(f.chunks) - 1; i >= 0; i-- {
		ch := &f.chunks[i]
		rest := ch.rest()
		gone := rest.within(r)
		if ch.copy || gone.Empty() {
			continue
		}
		if gone.End < rest.End {
			out = f.voidMiddle(i, gone, out)
			continue
		}
		if j := f.find(ch.duplicate); j >= 0 {
			duplicate := &f.chunks[j]
			if duplicate.rng.Off+duplicate.got >= gone.Off && gone.Off > rest.Off {
				out = f.voidDuplicated(i, j, gone.Off, out)
				continue
			}
			if duplicate.rng.Off+duplicate.got < gone.Off {
				f.copied -= duplicate.rng.End - gone.Off
				duplicate.rng.End = gone.Off
				out = append(out, shrink(duplicate))
			}
		}
		out = f.endAt(i, gone.Off, out)
	}
	return out
}

// endAt makes a request end at end, which it has not passed: the bytes behind that are not wanted.
func (f *flight) endAt(i int, end int64, out []Action) []Action {
	ch := &f.chunks[i]
	n := ch.rng.End - end
	f.shorten(ch, n)
	f.freeMap.settle(ch.slot, n, 0)
	return f.shrunk(i, out)
}

// voidMiddle voids a range inside a request. The request ends before it, and the bytes behind it are
// free again.
func (f *flight) voidMiddle(i int, gone Range, out []Action) []Action {
	ch := &f.chunks[i]
	if j := f.find(ch.duplicate); j >= 0 {
		out = f.withdraw(j, out) // the duplicate lies behind request i in f.chunks
		ch = &f.chunks[i]
	}
	behind := ch.part(Range{gone.End, ch.rng.End})
	f.shorten(ch, behind.Len())
	f.freeMap.give(behind)
	return f.endAt(i, gone.Off, out)
}

// voidDuplicated ends a request and its duplicate, which has received all bytes that are still wanted.
func (f *flight) voidDuplicated(i, j int, end int64, out []Action) []Action {
	ch, won := &f.chunks[i], &f.chunks[j]
	l, w := &f.links[ch.link], &f.links[won.link]
	out = append(out,
		Action{Kind: Cancel, Link: ch.link, Chunk: ch.id, Range: Range{ch.rng.Off, won.rng.Off}},
		Action{Kind: Cancel, Link: won.link, Chunk: won.id, Range: Range{won.rng.Off, end}})
	l.load.owe(ch.stream, -ch.left())
	l.load.assigned -= ch.rng.End - won.rng.Off
	w.load.assigned += end - won.rng.Off
	f.freeMap.received += max(0, end-ch.rng.Off-ch.got)
	f.freeMap.settle(ch.slot, ch.left(), 0)
	f.copied -= won.rng.End - end
	ch.rng.End, ch.got, ch.duplicate = won.rng.Off, won.rng.Off-ch.rng.Off, NoChunk
	won.rng.End, won.got, won.duplicate = end, end-won.rng.Off, NoChunk
	out = f.end(j, out) // the duplicate lies behind request i in f.chunks
	return f.end(i, out)
}
