// Package battery makes a directory that looks like the /sys of a phone running
// on its battery, and keeps it up to date as the phone's gauge would.
//
// What the files show is the mean over the time since they last changed, not an
// instantaneous value: that is what the averaging gauges of phones do, and it is
// the form of which a sampler misses nothing, as long as it reads as often as the
// gauge writes. So a reading tells of the past: at any moment the files are
// between nothing and one interval old, and speak of the interval before.
//
// Contract: New and Start belong to one goroutine, Close may be called from
// another. A started Battery has one goroutine of its own, which writes the files
// and asks the Meter; Close ends it. The files stay.
package battery
