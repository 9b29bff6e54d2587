// Package faults holds mlget against everything that links and servers do wrong:
// the fault matrix. A cell is one kind of fault at one place of a download, over
// one protocol and a number of links; it is run with the real program in a
// laboratory of its own, twice where the first run may fail: the second one, when
// the fault is over, has to finish what the first one began.
//
// Cells are plain values. A Session runs them in several goroutines, one
// laboratory each; its methods are for one goroutine.
//
// Linux only, as the laboratory is; elsewhere the command says so.
package faults
