// Package timerfd is a timer of the kernel's (timerfd_create(2)) for one who puts it off again and again.
//
// Go's runtime wakes at the times from which a timer of its own was put off, too, and its monitor with it:
// some nine context switches each. This one wakes the process when it is set to.
//
// Contract: the bell is rung by a send that never waits, so it should have room for one. One that was sent
// before Set may still be there.
package timerfd
