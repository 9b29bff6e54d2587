// Package fetch makes one range request over one link and checks the answer
// before a byte of it is handed on.
//
// A [Client] belongs to one link and owns that link's connections; Clients
// share nothing but immutable configuration, because a connection made under
// other settings must never be reused (curl CVE-2022-27782).
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
//
// HTTP/2 is chosen by ALPN over TLS, or by prior knowledge in clear.
//
// # Why HTTP/1.1 is our own and HTTP/2 is not
//
// net/http cannot pipeline, does not let go of the connection it uses, and decides
// itself what an early Close costs; requests and responses on a connection of our
// own give all three, and large reads go straight to the socket.
// For HTTP/2 there are two candidates, net/http's Transport.NewClientConn and
// x/net/http2's: the same code, but x/net marks its client deprecated from Go
// 1.26 on and forwards to net/http from 1.27 on. Both accept stream windows
// beyond the "less than 4 MiB" of their documentation (the code clips at
// 2^31-1), which a long fat link needs. So net/http's it is, on a connection
// that we dial, one transport per connection, so that nothing is pooled there.
// Its price is a goroutine per connection, two copies per byte and a
// WINDOW_UPDATE for nearly every read: about twice the CPU of HTTP/1.1 over TLS.
//
// # Concurrency
//
// Client's methods may be called from any goroutine. A Response belongs to one
// goroutine; the way to interrupt it from another is to cancel the context that
// was given to Get, which unblocks Read at once, and Gather may be called from any
// goroutine. That context governs the response until Close. Every Response must be closed: over HTTP/1.1 those queued
// behind it wait for that. Config must not change after NewClient.
package fetch
