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
	open, at := lowest(&s.open)
	first, _ := lowest(&s.fresh)
	begin := first < MaxClasses && b.mayBegin(s, &s.fresh[first].live()[0])
	if begin && a.asking && s.fresh[first].live()[0].guess {
		return first, true, 0
	}
	switch planned := b.planned(id); {
	case !planned && open < MaxClasses:
		return open, false, at
	case !planned && begin:
		return first, true, 0
	case !planned:
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
	if open < MaxClasses && b.files == 0 && s.last() {
		return open, false, at // at the end more connections than planned may share a file
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

// mayBegin says whether a part may be asked for although its file may not be in progress yet.
func (b *batch) mayBegin(s *freeMap, p *part) bool {
	return b.files == 0 || len(s.slots) < b.files || s.find(p.file) != noSlot
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
