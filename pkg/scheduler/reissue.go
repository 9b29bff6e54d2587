package scheduler

import "math/bits"

// follows notes that a request replaces another one, over another connection or link.
func (c *chunk) follows(before *chunk) {
	c.takenOver = before.takenOver
	if c.link == before.link {
		c.reissued = before.reissued + 1
		return
	}
	c.takenOver++
}

// mayHelp says whether a connection may help with ch. If a plan bounds how many files are in progress,
// a file has only as many connections as the plan gives it.
func (b *batch) mayHelp(f *flight, id LinkID, stream StreamID, ch *chunk) bool {
	if b.files == 0 || !b.planned(id) {
		return true
	}
	share := max(1, b.plans[id].Classes[ch.class].Parallelism)
	return bits.OnesCount64(f.at(ch.slot, id)&^(1<<stream)) < share
}
