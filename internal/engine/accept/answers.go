// Package accept judges what servers answer: Answers shows by their bytes that answers are of one
// object, where validators do not (see identity), Unfit says whether an answer is of use among
// those of many files, and Diagnose why a request failed, and whether link, server or file is to
// blame. It is pure: it knows no connection, no file and no clock.
package accept

import (
	"cmp"
	"slices"

	"github.com/mlget/mlget/pkg/scheduler"
)

// Overlap is how many bytes two answers must have in common, all of them equal, to be taken
// for answers of one object; of a smaller object all of it.
const Overlap = int64(16) << 10

// ID names an answer within Answers, from 1 on; 0 is none.
type ID int

// Answers keeps account of which bytes of an object came in which answer, and of which
// answers are known to be of one object: those that are joined. What is joined with the
// first one is confirmed. The zero value is ready.
//
// Answers that are proven by a validator are joined at once. The others are asked for
// from Overlap bytes before their range on, and these bytes are compared with those that
// another answer has brought (Join). Where no such bytes were asked for, Seams
// says what to ask for.
type Answers struct {
	of   []answer // of[i] has ID i+1
	lead ID       // that which is joined with it is confirmed; 0: the first
}

type answer struct {
	r      scheduler.Range // its bytes that count, as far as they have come
	parent ID              // of the set that it is joined in; its own ID: it is the root
	same   []common        // what it has brought as well
	shown  int64           // up to here its bytes are those of a confirmed answer, whatever its others are
}

// common is a range that another answer has brought in the same way.
type common struct {
	other ID
	r     scheduler.Range
}

// open says whether it has bytes that are of the object only if it is.
func (x *answer) open() bool { return !x.r.Empty() && x.r.End > x.shown }

// Add enters an answer whose bytes count from off on. A confirmed one is joined with the first.
func (a *Answers) Add(off int64, confirmed bool) ID {
	id := ID(len(a.of) + 1)
	parent := id
	if confirmed && len(a.of) > 0 {
		parent = a.root(max(1, a.lead))
	}
	a.of = append(a.of, answer{r: scheduler.Range{Off: off, End: off}, parent: parent})
	return id
}

// Has says that an answer has brought its bytes up to end.
func (a *Answers) Has(id ID, end int64) {
	r := &a.of[id-1].r
	r.End = max(r.End, end)
}

// Ends says that the bytes of an answer from end on do not count: another one brings them.
func (a *Answers) Ends(id ID, end int64) {
	r := &a.of[id-1].r
	r.End = max(r.Off, min(r.End, end))
}

// Range are the bytes of an answer that count, as far as they have come.
func (a *Answers) Range(id ID) scheduler.Range { return a.of[id-1].r }

// Confirmed says whether an answer is of the object.
func (a *Answers) Confirmed(id ID) bool { return a.root(id) == a.root(max(1, a.lead)) }

// Lead makes an answer, and those joined with it, the confirmed ones: the first one, and all
// that were joined with it, have brought too little to be compared, and will bring no more.
func (a *Answers) Lead(id ID) {
	var before []ID
	for i := range a.of {
		a.of[i].shown = 0
		if a.Confirmed(ID(i + 1)) {
			before = append(before, ID(i+1))
		}
	}
	for _, x := range before {
		a.of[x-1].parent = x
	}
	a.lead = id
}

// AllConfirmed says whether all answers are of the object that have brought something.
func (a *Answers) AllConfirmed() bool { return a.Unconfirmed() == 0 }

// Within are the answers that have brought bytes of r, in the order of their IDs.
func (a *Answers) Within(r scheduler.Range) (ids []ID) {
	for i := range a.of {
		if overlap(a.of[i].r, r) > 0 {
			ids = append(ids, ID(i+1))
		}
	}
	return ids
}

// Join compares an answer that has brought the bytes of r as well with those that had
// brought them before, of an object of a size, and joins it with those that it has enough in
// common with: what is joined counts together, as a few bytes of an answer that broke off say
// little of others. same says whether the bytes of a range are the same. It returns those that
// differ. All of r is there.
func (a *Answers) Join(id ID, r scheduler.Range, size int64, same func(scheduler.Range) bool) (differ []ID) {
	for _, other := range a.Within(r) {
		o := a.of[other-1].r
		both := scheduler.Range{Off: max(o.Off, r.Off), End: min(o.End, r.End)}
		switch {
		case other == id:
		case !same(both):
			differ = append(differ, other)
		default:
			a.of[id-1].same = append(a.of[id-1].same, common{other, both})
		}
	}
	for a.settle(min(Overlap, size)) {
	}
	return differ
}

// settle joins answers that have so many bytes in common, and says whether there were any.
func (a *Answers) settle(enough int64) (joined bool) {
	for i := range a.of {
		x, id, bytes := &a.of[i], ID(i+1), map[ID]int64{} // by the root of a set
		for _, c := range x.same {
			root := a.root(c.other)
			if c.r.End <= a.of[c.other-1].shown {
				root = a.root(max(1, a.lead))
			}
			bytes[root] += c.r.Len()
		}
		for root, n := range bytes {
			if n >= enough && a.root(root) != a.root(id) {
				a.Unite(root, id)
				joined = true
			}
		}
		for _, c := range x.same {
			if o := &a.of[c.other-1]; a.Confirmed(id) && c.r.Off == o.r.Off {
				o.shown = max(o.shown, c.r.End)
			}
		}
	}
	return joined
}

// Claimable is done without the bytes of answers that are not confirmed. done is sorted.
func (a *Answers) Claimable(done []scheduler.Range) []scheduler.Range {
	for i := range a.of {
		if x := &a.of[i]; x.open() && !a.Confirmed(ID(i+1)) {
			done = Without(done, x.r)
		}
	}
	return done
}

// Unconfirmed is how many bytes came in answers that are not confirmed.
func (a *Answers) Unconfirmed() (n int64) {
	for i := range a.of {
		if x := &a.of[i]; x.open() && !a.Confirmed(ID(i+1)) {
			n += x.r.Len()
		}
	}
	return n
}

// Seams are ranges around the places where answers meet that are not joined: an answer
// that brings the bytes of one can be joined with both. there says whether all of a range
// has come, size is the object's.
func (a *Answers) Seams(size int64, there func(scheduler.Range) bool) (seams []scheduler.Range) {
	order := make([]ID, 0, len(a.of))
	for i := range a.of {
		if !a.of[i].r.Empty() {
			order = append(order, ID(i+1))
		}
	}
	slices.SortFunc(order, func(x, y ID) int { return cmp.Compare(a.of[x-1].r.Off, a.of[y-1].r.Off) })
	for i := 1; i < len(order); i++ {
		left, right := order[i-1], order[i]
		at := a.of[right-1].r.Off
		if a.of[left-1].r.End < at || a.root(left) == a.root(right) || a.settled(left) && a.settled(right) {
			continue
		}
		if r := (scheduler.Range{Off: max(0, at-Overlap), End: min(size, at+Overlap)}); there(r) {
			seams = append(seams, r)
		}
	}
	return seams
}

// settled says whether nothing is left to show about an answer's bytes.
func (a *Answers) settled(id ID) bool { return a.Confirmed(id) || !a.of[id-1].open() }

func (a *Answers) root(id ID) ID {
	for a.of[id-1].parent != id {
		id = a.of[id-1].parent
	}
	return id
}

// Unite joins two answers that are of one object, by whatever shows that.
func (a *Answers) Unite(x, y ID) {
	x, y = a.root(x), a.root(y)
	a.of[max(x, y)-1].parent = min(x, y)
}

func overlap(x, y scheduler.Range) int64 {
	return max(0, min(x.End, y.End)-max(x.Off, y.Off))
}

// Without is sorted, disjoint ranges without the bytes of r.
func Without(ranges []scheduler.Range, r scheduler.Range) []scheduler.Range {
	rest := make([]scheduler.Range, 0, len(ranges)+1)
	for _, x := range ranges {
		for _, part := range [...]scheduler.Range{{Off: x.Off, End: min(x.End, r.Off)}, {Off: max(x.Off, r.End), End: x.End}} {
			if !part.Empty() {
				rest = append(rest, part)
			}
		}
	}
	return rest
}
