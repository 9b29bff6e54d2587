package scheduler

import "math/bits"

// batch is the plans of a job of many files.
type batch struct {
	plans  []Plan
	files  int  // how many files may be in progress at once; 0: any number
	booked bool // an input has been booked and not acted upon
}

// update books an input about pieces or plans. It takes effect with an input of another kind, so
// that inputs that belong together are seen together.
func (b *batch) update(in *Input, f *flight, out []Action) []Action {
	b.booked = true
	switch in.Kind {
	case Added:
		f.freeMap.add(in.Piece)
	case Voided:
		if r := in.Piece.Range; !r.Empty() {
			f.learnSizes(r)
			f.freeMap.cut(r)
			return f.void(r, out)
		}
	case Expected:
		f.freeMap.sized, f.freeMap.expected = true, min(unforeseen, max(0, in.Bytes))
	case Planned:
		if in.Link >= 0 && int(in.Link) < len(f.links) && in.Plan != nil && in.Plan.Validate() == nil {
			b.follow(in.Link, in.Plan, &f.links[in.Link])
		}
	default: // not about a batch
	}
	return out
}

// follow sets a link's plan, and gives the link as many connections as the plan has.
func (b *batch) follow(id LinkID, plan *Plan, l *link) {
	b.plans[id] = *plan
	b.files = 0
	for i := range b.plans {
		if n := b.plans[i].Files; n > 0 && (b.files == 0 || n < b.files) {
			b.files = n
		}
	}
	if n := plan.Connections(); n > 0 {
		l.streams.most, l.streams.narrowing.goal = StreamID(n), 0
	}
}

// planned says whether a plan says how many connections a link has: none does for one file.
func (b *batch) planned(id LinkID) bool { return b.plans != nil && b.plans[id].Connections() > 0 }

// mayHelp says whether a connection may help with ch. If a plan bounds how many files are in progress,
// a file has only as many connections as the plan gives it.
func (b *batch) mayHelp(f *flight, id LinkID, stream StreamID, ch *chunk) bool {
	if b.files == 0 || !b.planned(id) {
		return true
	}
	share := max(1, b.plans[id].Classes[ch.class].Parallelism)
	return bits.OnesCount64(f.at(ch.slot, id)&^(1<<stream)) < share
}
