package scheduler

// fileIndex finds the slots of files in progress by their numbers: a table of hashes
// with linear probing, which neither grows with the files of a job nor allocates
// once it is as large as those in progress need.
type fileIndex struct {
	entries []place // as many as a power of two
	n       int
}

type place struct {
	file int32
	slot int32 // one more than it is; 0: nothing is here
}

const leastEntries = 64

// home is where a file's entry is looked for first. Files mostly have numbers that
// follow one another: they lie side by side then.
func (p *fileIndex) home(file int32) int { return int(uint32(file)) & (len(p.entries) - 1) }

func (p *fileIndex) get(file int32) int32 {
	if p.n == 0 {
		return noSlot
	}
	for i := p.home(file); ; i = (i + 1) & (len(p.entries) - 1) {
		switch e := p.entries[i]; {
		case e.slot == 0:
			return noSlot
		case e.file == file:
			return e.slot - 1
		}
	}
}

// put adds a file that is not there.
func (p *fileIndex) put(file, slot int32) {
	if 2*p.n >= len(p.entries) {
		old := p.entries
		p.entries, p.n = make([]place, max(leastEntries, 2*len(old))), 0
		for _, e := range old {
			if e.slot != 0 {
				p.put(e.file, e.slot-1)
			}
		}
	}
	i := p.home(file)
	for p.entries[i].slot != 0 {
		i = (i + 1) & (len(p.entries) - 1)
	}
	p.entries[i] = place{file, slot + 1}
	p.n++
}

// remove takes out a file that is there, and closes the gap (Knuth, TAOCP 3, 6.4,
// algorithm R).
func (p *fileIndex) remove(file int32) {
	mask := len(p.entries) - 1
	i := p.home(file)
	for p.entries[i].file != file || p.entries[i].slot == 0 {
		i = (i + 1) & mask
	}
	p.n--
	for gap := i; ; {
		p.entries[gap].slot = 0
		for {
			i = (i + 1) & mask
			if p.entries[i].slot == 0 {
				return
			}
			// It may move to the gap unless its home lies behind the gap, up to it.
			if home := p.home(p.entries[i].file); (i-home)&mask >= (i-gap)&mask {
				break
			}
		}
		p.entries[gap] = p.entries[i]
		gap = i
	}
}
