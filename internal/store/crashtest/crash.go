package crashtest

import (
	"math/rand/v2"
	"slices"
)

// Model is what a file system guarantees about changes that were not synced. All but Any keep a
// rename whole; none guarantees anything about the bytes of a file.
type Model uint8

const (
	// Ordered says that changes to directories and to the lengths of files become durable in
	// the order in which they were made. ext4 and XFS, which have one log.
	Ordered Model = iota
	// Logged says the same, but that syncing a file makes the name durable that it has,
	// and no other change of its directory. btrfs and F2FS, whose logs are of files.
	Logged
	// Any says that each change may be there without those before it, and of a rename the new
	// name without the old one's being gone. ext2, FAT, exFAT, and whatever is behind
	// FUSE.
	Any
)

// Models are all of them.
func Models() []Model { return []Model{Ordered, Logged, Any} }

func (m Model) String() string { return [...]string{"ordered", "logged", "any"}[m] }

// pageSize is the unit in which a file system writes back bytes.
const pageSize = 4096

// halfway is a rename of which both names are there.
const halfway = 2

// Crash makes one of the states in which the directory can be found when the power
// has gone at a moment: before the at-th, from 0 to Log.Moments.
func (l *Log) Crash(at int, m Model, random *rand.Rand) State {
	c := crash{log: l, at: at, random: random, kept: make([]int, len(l.Ops)), cut: len(l.Ops)}
	c.must()
	switch m {
	case Ordered, Logged:
		c.prefix(m == Logged)
	case Any:
		c.any()
	}
	return c.state()
}

// crash is the making of one state.
type crash struct {
	log    *Log
	at     int
	random *rand.Rand
	kept   []int // of each op: 0 or 1, or halfway
	cut    int   // ops from here on have changed neither a directory nor a length, unless they are kept
}

// happened says whether an op can have had an effect.
func (c *crash) happened(o *Op) bool { return o.Begun < c.at }

// synced says whether s, which is of what o changes, had made it durable.
func (c *crash) synced(s, o *Op) bool { return s.Ended < c.at && o.Ended < s.Begun }

// inDirectory says whether o changes one.
func inDirectory(o *Op) bool { return o.Kind == Enter || o.Kind == Rename || o.Kind == Leave }

// must keeps what is durable. A directory is synced by its own sync, a file by its
// own, and all by syncfs.
func (c *crash) must() {
	names := c.directories()
	for i := range c.log.Ops {
		s := &c.log.Ops[i]
		if s.Kind != Sync && s.Kind != SyncAll || !c.happened(s) {
			continue
		}
		for k := range c.log.Ops[:i] {
			o := &c.log.Ops[k]
			if !c.synced(s, o) {
				continue
			}
			switch {
			case s.Kind == SyncAll,
				(o.Kind == Write || o.Kind == Truncate) && o.Obj == s.Obj,
				inDirectory(o) && names[dirOf(o.Name)] == s.Obj:
				c.kept[k] = 1
			}
		}
	}
}

// directories gives the directories' numbers by their names, which never change.
func (c *crash) directories() map[string]Object {
	names := map[string]Object{}
	for name, obj := range c.log.names {
		if c.log.isDir[obj] {
			names[name] = obj
		}
	}
	for _, o := range c.log.Ops {
		if o.Kind == Enter && c.log.isDir[o.Obj] {
			names[o.Name] = o.Obj
		}
	}
	return names
}

// prefix keeps what was made of directories and of files' lengths up to some op,
// which is not before any that is durable. If logged, what is durable of a file says
// nothing of the rest, but of the name that it had when it was synced.
func (c *crash) prefix(logged bool) {
	least, most := 0, 0
	for i := range c.log.Ops {
		if o := &c.log.Ops[i]; c.happened(o) {
			most = i + 1
			if c.kept[i] == 1 && !logged {
				least = i + 1
			}
		}
	}
	c.cut = most // half of the time, or else anywhere
	if c.random.IntN(2) == 0 {
		c.cut = least + c.random.IntN(most-least+1)
	}
	var changes []int
	for i := range c.log.Ops[:most] {
		o := &c.log.Ops[i]
		if inDirectory(o) {
			changes = append(changes, i)
		}
		if i < c.cut && (inDirectory(o) || o.Kind == Truncate) {
			c.kept[i] = 1
		}
	}
	if !logged {
		return
	}
	for k := range c.log.Ops {
		s := &c.log.Ops[k]
		if s.Kind != Sync || s.Ended >= c.at || c.log.isDir[s.Obj] {
			continue
		}
		named := -1
		for _, i := range changes {
			if o := &c.log.Ops[i]; o.Kind != Leave && o.Obj == s.Obj && o.Ended < s.Begun {
				named = i
			}
		}
		if named >= 0 {
			c.kept[named] = 1
		}
	}
}

// any keeps some changes of directories: as chance will have it, or a single one, or
// all but one, which is how mistakes show that are of two changes.
func (c *crash) any() {
	var open []int
	for i := range c.log.Ops {
		if o := &c.log.Ops[i]; c.kept[i] == 0 && inDirectory(o) && c.happened(o) {
			open = append(open, i)
		}
	}
	if len(open) == 0 {
		return
	}
	likely, how, odd := c.random.Float64(), c.random.IntN(3), open[c.random.IntN(len(open))]
	for _, i := range open {
		o := &c.log.Ops[i]
		switch {
		case how == 0 && c.random.Float64() >= likely, how == 1 && i != odd, how == 2 && i == odd:
			continue
		}
		c.kept[i] = 1
		if o.Kind == Rename && c.random.IntN(3) == 0 {
			c.kept[i] = halfway
		}
	}
}

// state carries out what was kept.
func (c *crash) state() State {
	names := map[string]Object{}
	for name, obj := range c.log.names {
		names[name] = obj
	}
	for i := range c.log.Ops {
		o := &c.log.Ops[i]
		if c.kept[i] == 0 || !inDirectory(o) {
			continue
		}
		switch o.Kind { //nolint:exhaustive // the others change no directory
		case Enter:
			names[o.Name] = o.Obj
		case Rename:
			names[o.Name] = o.Obj
			if was, ok := names[o.From]; ok && was == o.Obj && c.kept[i] != halfway {
				delete(names, o.From)
			}
		case Leave:
			if names[o.Name] == o.Obj {
				delete(names, o.Name)
			}
		}
	}
	s := State{files: map[string][]byte{}}
	content := map[Object][]byte{}
	for name, obj := range names {
		switch {
		case !reachable(names, name):
		case c.log.isDir[obj]:
			s.dirs = append(s.dirs, name)
		default:
			if _, made := content[obj]; !made {
				content[obj] = nil // in an order that is always the same; below
			}
			s.files[name] = nil
		}
	}
	slices.Sort(s.dirs)
	for obj := range Object(c.log.objects) {
		if _, wanted := content[obj]; wanted {
			content[obj] = c.content(obj)
		}
	}
	for name := range s.files {
		s.files[name] = content[names[name]]
	}
	return s
}

// reachable says whether all directories are there that name stands in.
func reachable(names map[string]Object, name string) bool {
	for name != "." {
		name = dirOf(name)
		if _, there := names[name]; !there {
			return false
		}
	}
	return true
}

// content is a possible content of a file.
func (c *crash) content(obj Object) []byte {
	data := slices.Clone(c.log.content[obj])
	// How much of what was not synced has reached the disk: all, nothing, or some.
	likely := [...]float64{0, 1, c.random.Float64(), c.random.Float64()}[c.random.IntN(4)]
	stale := c.random.IntN(4) == 0 // what the disk held before, instead of zeros
	for i := range c.log.Ops {
		o := &c.log.Ops[i]
		if o.Obj != obj || !c.happened(o) {
			continue
		}
		switch {
		case o.Kind == Truncate && (c.kept[i] == 1 || i < c.cut && c.random.Float64() < likely):
			data = resize(data, o.Off)
		case o.Kind == Write && c.kept[i] == 1:
			data = resize(data, max(int64(len(data)), o.Off+int64(len(o.Data))))
			copy(data[o.Off:], o.Data)
		case o.Kind == Write:
			data = c.tear(data, o, i < c.cut, likely, stale)
		}
	}
	return data
}

// tear writes some pages of o, which may have made the file longer.
func (c *crash) tear(data []byte, o *Op, longer bool, likely float64, stale bool) []byte {
	end := o.Off + int64(len(o.Data))
	// The length is written by itself: of one that is not, the rest is not seen.
	if longer && c.random.Float64() < max(likely, 0.3) {
		data = resize(data, max(int64(len(data)), end))
	}
	for off := o.Off; off < end; {
		next := min(end, (off/pageSize+1)*pageSize)
		if off < int64(len(data)) {
			page := data[off:min(next, int64(len(data)))]
			if c.random.Float64() < likely {
				copy(page, o.Data[off-o.Off:])
			} else if stale && c.random.IntN(2) == 0 {
				for i := range page {
					page[i] = byte(c.random.Uint32())
				}
			}
		}
		off = next
	}
	return data
}

func resize(data []byte, n int64) []byte {
	if n <= int64(len(data)) {
		return data[:n:n]
	}
	return append(data, make([]byte, n-int64(len(data)))...)
}
