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

// void shortens or withdraws the requests for bytes that are no longer wanted. Of a request from whose
// middle they are, the bytes behind them are free again.
func (f *flight) void(r Range, out []Action) []Action {
	for i := len(f.chunks) - 1; i >= 0; i-- {
		ch := &f.chunks[i]
		rest := ch.rest()
		gone := rest.within(r)
		if ch.copy || gone.Empty() {
			continue
		}
		middle := gone.End < rest.End
		if j := f.find(ch.duplicate); j >= 0 { // behind request i in f.chunks
			if duplicate := &f.chunks[j]; middle || duplicate.rest().Off >= gone.Off {
				out = f.withdraw(j, out)
				ch = &f.chunks[i]
			} else {
				f.copied -= duplicate.rng.End - gone.Off
				duplicate.rng.End = gone.Off
				out = append(out, shrink(duplicate))
			}
		}
		if middle {
			behind := ch.part(Range{gone.End, ch.rng.End})
			f.shorten(ch, behind.Len())
			f.freeMap.give(behind)
		}
		n := ch.rng.End - gone.Off
		f.shorten(ch, n)
		f.freeMap.settle(ch.slot, n, 0)
		out = f.shrunk(i, out)
	}
	return out
}
