package scheduler

import "math/bits"

// class is the class of files that the plan gives a connection to.
func (p *Plan) class(stream StreamID) Class {
	at := 0
	for k := range Class(MaxClasses) {
		if at += p.Classes[k].Connections; int(stream) < at {
			return k
		}
	}
	return 0
}

// pick is the free part that a connection should ask for next: its list and its place there,
// below 0 if there is none. Files in progress come first.
func (a *assignment) pick(id LinkID, stream StreamID) (k Class, fresh bool, i int) {
	s, b := a.freeMap, a.batch
	if a.asking {
		if k, i = s.firstGuess(); i >= 0 && b.mayBegin(s, &s.fresh[k].live()[i]) {
			return k, true, i
		}
	}
	if !b.planned(id) {
		if k, i = lowest(&s.open); k < MaxClasses {
			return k, false, i
		}
		if k, _ = lowest(&s.fresh); k < MaxClasses && b.mayBegin(s, &s.fresh[k].live()[0]) {
			return k, true, 0
		}
		return 0, false, -1
	}
	k = b.plans[id].class(stream)
	tried := uint(0)
	for {
		if fresh, i = b.pickOf(a.flight, id, stream, k); i >= 0 {
			return k, fresh, i
		}
		// The class with the most left comes next.
		tried |= 1 << k
		most := int64(0)
		for o := range Class(MaxClasses) {
			if left := s.open[o].bytes + s.fresh[o].bytes; tried&(1<<o) == 0 && left > most {
				k, most = o, left
			}
		}
		if most == 0 {
			break
		}
	}
	if k, i = lowest(&s.open); k < MaxClasses && b.files == 0 && s.last() {
		return k, false, i // at the end more connections than planned may share a file
	}
	return 0, false, -1
}

// lowest finds the part with the lowest address that may be asked for: its list, MaxClasses if there
// is none, and its place there.
func lowest(lists *[MaxClasses]freeList) (best Class, place int) {
	best, off := MaxClasses, unsized
	for k := range lists {
		for i, p := range lists[k].live() {
			if p.Off >= off {
				break
			}
			if !p.unconfirmed() {
				best, place, off = Class(k), i, p.Off
				break
			}
		}
	}
	return best, place
}

// allAsked says whether all bytes have been asked for that are sure to exist.
func (s *freeMap) allAsked() bool {
	open, _ := lowest(&s.open)
	fresh, _ := lowest(&s.fresh)
	return s.last() && open == MaxClasses && fresh == MaxClasses
}

// firstGuess finds the first file of unknown size that was not asked for: its list and its place
// there, below 0 if there is none.
func (s *freeMap) firstGuess() (Class, int) {
	if s.guesses.parts == 0 {
		return 0, -1
	}
	k, _ := lowest(&s.fresh)
	if k < MaxClasses && s.fresh[k].live()[0].guess {
		return k, 0
	}
	return 0, -1
}

// mayBegin says whether a part may be asked for although its file may not be in progress yet.
func (b *batch) mayBegin(s *freeMap, p *part) bool {
	return b.files == 0 || s.active < b.files || s.find(p.file) != noSlot
}

// pickOf is pick for one class of files: a file that the connection has requests for, or one
// with fewer connections of the link than the plan gives it, or a new one.
func (b *batch) pickOf(f *flight, id LinkID, stream StreamID, k Class) (fresh bool, i int) {
	s := f.freeMap
	share, first := max(1, b.plans[id].Classes[k].Parallelism), -1
	for i, p := range s.open[k].live() {
		if p.unconfirmed() {
			continue
		}
		at := f.at(p.slot, id)
		if at&(1<<stream) != 0 {
			return false, i
		}
		if first < 0 && bits.OnesCount64(at) < share {
			first = i
		}
	}
	if first < 0 && !s.fresh[k].empty() && b.mayBegin(s, &s.fresh[k].live()[0]) {
		return true, 0
	}
	return false, first
}
