package crashtest

import (
	"slices"
	"syscall"
)

// MarkPath is where the words of a Mark follow.
const MarkPath = "/mlget-crashtest/"

// Program is the program to run, and its directory.
type Program struct {
	Root string   // the directory that is watched, and in which it runs; absolute, without symbolic links
	Path string   // of the program
	Args []string // the first is its name
	Env  []string // as os.Environ gives it
	Fault
}

// Fault makes a file system fail from some call on. The zero value is none.
type Fault struct {
	Calls Calls         // which fail
	After int           // how many of these calls succeed before
	Errno syscall.Errno // 0: none fails
}

// Calls is a kind of calls below the directory.
type Calls uint8

const (
	// Growing calls need room. They fail on a full disk, or by a quota.
	Growing Calls = iota
	// Changing calls change something. They fail on a file system that has become read-only.
	Changing
	// Syncing calls make changes durable. They fail when the disk is gone.
	Syncing
)

// Ended says how a program ended that was recorded.
type Ended struct {
	Output string // on standard output and standard error
	Code   int    // its exit status; -1: a signal
	Failed int    // calls that were made to fail
}

// renumber leaves out the moments at which nothing happened, and sorts the calls
// by their beginnings.
func (l *Log) renumber() {
	slices.SortStableFunc(l.Ops, func(a, b Op) int { return a.Begun - b.Begun })
	var moments []int
	for _, o := range l.Ops {
		moments = append(moments, o.Begun)
		if o.Ended != Never {
			moments = append(moments, o.Ended)
		}
	}
	slices.Sort(moments)
	moments = slices.Compact(moments)
	for i := range l.Ops {
		o := &l.Ops[i]
		o.Begun, _ = slices.BinarySearch(moments, o.Begun)
		if o.Ended != Never {
			o.Ended, _ = slices.BinarySearch(moments, o.Ended)
		}
	}
	l.Moments = len(moments)
}
