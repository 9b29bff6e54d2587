package scheduler

// batch is what a Core knows of a job of many files.
type batch struct {
	freeMap  *freeMap // the Core's
	plans    []Plan
	files    int         // may be in progress at once; 0: any number
	order    []LinkID    // in which links are served
	states   []dealState // of the links, in one assignment
	booked   bool        // something was told that nobody has acted upon
	asking   bool        // the sizes of all files should be known soon
	helping  bool        // there is nothing left to ask for
	drySince Time        // when all was asked for that could be; Never: it is not
	lasts    float64     // for how many seconds more the job will last
}

func newBatch(links int, free *freeMap) *batch {
	b := &batch{freeMap: free, plans: make([]Plan, links), states: make([]dealState, links)}
	for id := range LinkID(links) {
		b.order = append(b.order, id)
	}
	return b
}

// update takes in what is told of pieces and plans. It takes effect with an input of
// another kind, so that what is told together is seen together.
func (b *batch) update(in *Input, f *flight, out []Action) []Action {
	b.booked = true
	switch in.Kind {
	case Added:
		b.freeMap.add(in.Piece)
	case Voided:
		if r := in.Piece.Range; !r.Empty() {
			f.learnSizes(r)
			b.freeMap.cut(r)
			return f.void(r, out)
		}
	case Expected:
		b.freeMap.sized, b.freeMap.expected = true, min(unforeseen, max(0, in.Bytes))
	case Planned:
		if in.Link >= 0 && int(in.Link) < len(f.links) && in.Plan != nil && in.Plan.Validate() == nil {
			b.follow(in.Link, in.Plan, &f.links[in.Link])
		}
	default: // not about a batch
	}
	return out
}

// follow gives a link the connections that its plan wants.
func (b *batch) follow(id LinkID, plan *Plan, l *link) {
	b.plans[id] = *plan
	b.files = 0
	for i := range b.plans {
		if n := b.plans[i].Files; n > 0 && (b.files == 0 || n < b.files) {
			b.files = n
		}
	}
	if n := plan.Connections(); n > 0 {
		l.streams.narrowTo(StreamID(n), l)
	}
}

// planned says whether a plan says how many connections a link has.
func (b *batch) planned(id LinkID) bool { return b != nil && b.plans[id].Connections() > 0 }
