// Package bench runs download tools over the same emulated links, and over the
// unshaped loopback device, in random order, and writes down how they compare.
//
// The measurements are the kernel's and the emulator's own, taken in the same
// way for every tool: the time from a process's start to its end, its CPU time
// from its resource usage, its peak resident set from /proc, and what each link
// carried when from the emulator's counters. Every file is checked by its hash.
//
// Contract: a Session belongs to one goroutine, and at most one process of a
// tool runs at a time. Plans, statistics and reports are pure functions of
// their arguments: the same seed gives the same order, the same results give
// the same text.
package bench
