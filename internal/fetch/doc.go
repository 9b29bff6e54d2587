// Package fetch makes one range request over one link and checks the answer
// before a byte of it is handed on.
//
// A [Client] belongs to one link and owns that link's connections; Clients
// share nothing but immutable configuration, because a connection made under
// other settings must never be reused (curl CVE-2022-27782), and [Peers], what they know
// of servers.
//
// # Connections
//
// A Client keeps one connection per origin (scheme, host, port). Over HTTP/1.1
// a Get that arrives while a response is being read is pipelined: its request
// is written at once behind the earlier one, as soon as that connection has
// shown that it is persistent and that the response has a length. When a server
// drops pipelined requests they are sent again unnoticed, and the origin falls
// back to two alternating connections. A caller who wants parallel TCP streams
// over one link makes one Client per stream.
// Open makes a connection before there is a request for it.
//
// HTTP/2 is chosen by ALPN over TLS, or by prior knowledge in clear.
//
// Nobody reads an HTTP/2 connection but those who wait for something from it, one
// of them for all: a Read, or a Get that waits for its header. Payload goes from
// the connection straight to where its reader wants it; only what comes for a
// stream that nobody reads at the moment is kept, up to that stream's window.
// While nobody reads, pings and settings go unanswered, and that a server has
// closed the connection or wants no more requests is noticed when it is next
// used; the request is then sent again over a new one.
//
// # Why both are our own
//
// Since Go 1.26 net/http has connections that their user owns: Transport.NewClientConn
// dials one, outside of the pool, and http.ClientConn has RoundTrip, Reserve, Release,
// Available, InFlight, Err and Close. Over HTTP/1.1 such a connection still answers one
// request at a time: it does not pipeline, decides itself what an early Close costs
// (the connection), and reads the socket through a buffer in a goroutine of its own.
// Requests and responses on a connection of our own pipeline, and large reads go
// straight to the socket.
//
// Over HTTP/2 a ClientConn reads in a goroutine and copies each byte twice, into the
// stream's buffer and from there; it sends a WINDOW_UPDATE whenever 4 KiB have been
// read, for the stream and for the connection. Its windows can be chosen
// (HTTP2Config.MaxReceiveBufferPerStream and -PerConnection; by default 4 MiB and
// 1 GiB) but then stay as they are, whatever the link's round trip becomes. On Close of
// a stream that has not ended it sends RST_STREAM and waits until that is written.
// golang.org/x/net/http2's ClientConn does the same (it is the same code), is
// deprecated in favour of net/http's, and from Go 1.27 on is a wrapper around it. What
// is hard about HTTP/2 without being particular to it, frames and header compression,
// comes from that package's Framer and from hpack, which are not deprecated. How the
// three compare in time, CPU and waste over one link has not been measured yet.
//
// # Windows
//
// How far a server may run ahead on a stream follows the bytes that come within a
// round trip, or 25 ms (see pace), from 256 KiB to 16 MiB, ahead of TCP's slow start, so that
// TCP and not the window is what limits a link. It is given back in quarters. No
// priorities are asked for: a server that knows RFC 9218 answers in order anyway,
// and for others there is but RFC 7540's scheme, which is deprecated.
//
// # Concurrency
//
// Client's methods may be called from any goroutine. A Response belongs to one
// goroutine; the way to interrupt it from another is to cancel the context that
// was given to Get, which unblocks Read at once; Gather, too, may be called from
// any. That context governs the response until Close. Every Response must be
// closed: over HTTP/1.1 those queued behind it wait for that. Reads of responses
// over one HTTP/2 connection may run at the same time; one that is not read holds
// up none of the others. Config must not change after NewClient.
package fetch
