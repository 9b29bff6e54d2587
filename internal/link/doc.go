// Package link finds the machine's network links, checks what each can do,
// and opens connections over one of them and no other.
//
// A link that cannot be bound is unusable, with a reason and, where there is
// one, the command that mends it. Nothing here ever falls through to the
// default route: a socket that cannot be bound is an error of the dial. The
// one exception is said aloud: where the only name server is one on this
// machine (a resolver whose Method is ResolverSystem), a bound socket cannot
// reach it, and what it asks may leave by another link.
//
// Contract: List, Choose, ParseSpec and ReadTCPInfo are safe for concurrent
// use. A Link is safe for concurrent use; it is a picture of the interface at
// the time of List, so after a Change has announced new addresses or name
// servers, List again and make a new Link. Watch owns one goroutine, which
// ends, closing the channel, soon after its context does. DialContext and
// lookups leave no goroutine of their own behind.
package link
