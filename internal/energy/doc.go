// Package energy turns bytes, times and samples into joules. It is pure: it reads no clock,
// opens no file, and knows no link and no event; its callers supply the numbers. The same
// numbers always give the same joules.
//
// Two kinds of figures come out of it, and must never be mixed up:
//
//   - measured: a sampler read watts or joules somewhere, and the functions
//     here integrate and describe them;
//   - modelled: nothing was measured, and a [Radio] with its [Machine], or a
//     [TCPCost], says what the bytes would have cost. Such figures are always
//     named modelled.
//
// # Radios
//
// A [Radio] holds the constants of one radio in one kind of network: its power when idle, while
// it is being promoted to its high-power state, while bytes cross it, and during the tail that
// follows the last byte. A [Machine] is one such radio in time. Its owner reports, at any
// intervals, how many bytes have crossed, and it knows to the nanosecond how long it was in
// which state: the energy does not depend on the intervals.
//
// # Units
//
// Instants are int64 nanoseconds since an origin of the caller's choice, as pkg/scheduler
// counts them. Power of models is in milliwatts, of samples in watts; energy is in joules; a
// Mbit is 10^6 bit.
//
// # Concurrency
//
// Functions without a receiver, and values, may be used from everywhere. A [Machine] belongs to
// one goroutine at a time. Nothing here starts a goroutine, takes a lock or keeps state between
// calls outside of a Machine.
package energy
