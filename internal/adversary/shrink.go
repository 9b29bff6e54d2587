package adversary

import (
	"slices"
	"time"
)

// Shrink makes a failing history smaller for as long as it fails.
func Shrink(w *World, fails func(*World) bool) *World {
	for again := true; again; {
		again = false
		for _, smaller := range w.smaller() {
			if fails(smaller) {
				w, again = smaller, true
				break
			}
		}
	}
	return w
}

// clone is a copy that shares nothing with w.
func (w *World) clone() *World {
	c := *w
	c.Files = slices.Clone(w.Files)
	for i := range c.Files {
		c.Files[i].Versions = slices.Clone(c.Files[i].Versions)
	}
	c.Edges = slices.Clone(w.Edges)
	for i := range c.Edges {
		e := &c.Edges[i]
		e.Changes, e.Turns, e.Shows, e.Faults = slices.Clone(e.Changes), slices.Clone(e.Turns), slices.Clone(e.Shows), slices.Clone(e.Faults)
	}
	c.Links = slices.Clone(w.Links)
	for i := range c.Links {
		l := &c.Links[i]
		l.Edges, l.Outages = slices.Clone(l.Edges), slices.Clone(l.Outages)
	}
	c.Runs = slices.Clone(w.Runs)
	return &c
}

// smaller are the histories that lack one thing that w has.
func (w *World) smaller() (all []*World) {
	// without adds a copy after f, unless f finds nothing to change.
	without := func(f func(c *World) bool) {
		if c := w.clone(); f(c) {
			all = append(all, c)
		}
	}
	for i := range w.Links {
		without(func(c *World) bool {
			if i == c.Anchor || len(c.Links) == 1 {
				return false
			}
			c.Links = slices.Delete(c.Links, i, i+1)
			if c.Anchor > i {
				c.Anchor--
			}
			return true
		})
	}
	for i := range len(w.Runs) - 1 {
		without(func(c *World) bool {
			c.Runs = slices.Delete(c.Runs, i, i+1)
			for e := range c.Edges {
				for x := range c.Edges[e].Changes {
					if ch := &c.Edges[e].Changes[x]; ch.Run > i {
						ch.Run--
					}
				}
			}
			return true
		})
	}
	for i := range w.Runs {
		without(func(c *World) bool { return set(&c.Runs[i].Killed, false) })
	}
	without(func(c *World) bool { return set(&c.Consumer, 0) })
	if len(w.Files) > 1 {
		without(func(c *World) bool { c.Files = c.Files[:len(c.Files)-1]; return true })
		without(func(c *World) bool { c.Files = c.Files[:1]; c.Mode = Single; return true })
	}
	without(func(c *World) bool { return set(&c.Mode, Single) && len(c.Files) == 1 })
	without(func(c *World) bool { return set(&c.HTTP2, false) })
	without(func(c *World) bool { had := c.Foreign != nil; c.Foreign = nil; return had })
	without(func(c *World) bool { return set(&c.Algorithm, "3") })
	without(func(c *World) bool { return set(&c.Parallelism, 1) })
	for i := range w.Links {
		without(func(c *World) bool { return set(&c.Links[i].Refused, 0) })
		without(func(c *World) bool { return set(&c.Links[i].NoName, 0) })
		without(func(c *World) bool { return set(&c.Links[i].Cut, 0) })
		without(func(c *World) bool { had := len(c.Links[i].Outages) > 0; c.Links[i].Outages = nil; return had })
		without(func(c *World) bool {
			had := len(c.Links[i].Edges) > 1
			c.Links[i].Edges = c.Links[i].Edges[:1]
			return had
		})
		without(func(c *World) bool {
			had := len(c.Links[i].Edges) > 1
			c.Links[i].Edges = c.Links[i].Edges[len(c.Links[i].Edges)-1:]
			return had
		})
		without(func(c *World) bool { return set(&c.Links[i].Rate, 1e6) })
		without(func(c *World) bool { return set(&c.Links[i].Latency, time.Duration(10+i)*time.Millisecond) })
	}
	for i := range w.Edges {
		all = append(all, w.plainer(i)...)
	}
	if w.Anchor >= 0 { // those that are honest change together
		without(func(c *World) bool {
			had := false
			for i := range c.Edges {
				had = had || len(c.Edges[i].Changes) > 0
				c.Edges[i].Changes = nil
			}
			return had
		})
	}
	for f := range w.Files {
		for v := range w.Files[f].Versions {
			for _, size := range []int64{100_000, 300_000, 1_000_000} {
				without(func(c *World) bool {
					x := &c.Files[f].Versions[v]
					return x.Size > size && set(&x.Size, size) && (c.Foreign == nil || c.Foreign.Size <= size)
				})
			}
		}
		without(func(c *World) bool {
			n := len(c.Files[f].Versions)
			c.Files[f].Versions = c.Files[f].Versions[:max(1, n-1)]
			return n > 1
		})
	}
	return all
}

// set changes a value, and says whether it was another one.
func set[T comparable](v *T, to T) bool {
	changed := *v != to
	*v = to
	return changed
}

// plainer are the histories in which an edge has one habit less.
func (w *World) plainer(i int) (all []*World) {
	without := func(f func(e *Edge) bool) {
		if c := w.clone(); f(&c.Edges[i]) {
			all = append(all, c)
		}
	}
	for f := range w.Edges[i].Faults {
		without(func(e *Edge) bool { e.Faults = slices.Delete(e.Faults, f, f+1); return true })
	}
	for x := range w.Edges[i].Changes {
		if w.Anchor >= 0 {
			break
		}
		without(func(e *Edge) bool { e.Changes = slices.Delete(e.Changes, x, x+1); return true })
	}
	without(func(e *Edge) bool { had := len(e.Turns) > 0; e.Turns = nil; return had })
	for x := range w.Edges[i].Turns {
		without(func(e *Edge) bool { e.Turns = slices.Delete(e.Turns, x, x+1); return true })
	}
	without(func(e *Edge) bool { return set(&e.Ranges, RangesYes) })
	without(func(e *Edge) bool { return set(&e.Framing, ByLength) })
	without(func(e *Edge) bool { return set(&e.KeepAlive, 0) })
	without(func(e *Edge) bool { return set(&e.Conns, 0) })
	without(func(e *Edge) bool { return set(&e.Redirects, false) })
	without(func(e *Edge) bool { return set(&e.Idle, 0) })
	without(func(e *Edge) bool { return set(&e.OneByOne, false) })
	without(func(e *Edge) bool { return set(&e.Success, 0) })
	without(func(e *Edge) bool { return set(&e.EmptyOK, false) })
	without(func(e *Edge) bool { return set(&e.TagSuffix, "") })
	for x := range w.Edges[i].Shows {
		without(func(e *Edge) bool {
			if len(e.Shows) == 1 {
				return set(&e.Shows[0], ShowTag|ShowDate)
			}
			e.Shows = slices.Delete(e.Shows, x, x+1)
			return true
		})
	}
	return all
}
