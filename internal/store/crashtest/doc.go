// Package crashtest finds out what a loss of power would leave of files: it
// records what a program asks of a file system, call by call, and builds from
// the record the directories that could be there afterwards. For tests alone.
//
//	Record (ptrace, Linux) -> Log -> Log.Crash(at, model, random) -> State -> State.Write(dir)
//
// The method is that of Pillai et al., "All File Systems Are Not Created Equal"
// (OSDI 2014): what is durable is only what the program asked to be synced, and
// of everything else the file system may have written any part it likes, within
// what its Model says about order. Contents go by pages: each page of a write
// that was not synced is there, or not, or is what the disk held before; the
// length of a file is written independently of its bytes.
//
// Concurrency: a Log is not changed once Record has returned it, and may be used
// by many goroutines. Record blocks until the program has ended.
package crashtest
