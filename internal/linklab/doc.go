// Package linklab makes a laboratory of emulated links: two network namespaces
// joined by one pair of TUN devices per link, an emulator between them, a web
// server in one and any command in the other. Where a link has a power model, the
// lab is a phone as well: it accounts for the radios' energy, and has a battery
// that shows it. Nothing outside of the two
// namespaces is touched, and nothing is left behind.
//
// A Lab's methods may be called from any goroutine; Close may be called while
// commands run, which ends them. Namespaces belong to threads: each is held by
// one goroutine that is locked to its thread until Close, and whatever has to
// happen inside a namespace is sent there.
//
// Linux only: Start and Lab exist on no other system, so tests that use them
// bear the build tag linux. Elsewhere the command says so and ends.
package linklab
