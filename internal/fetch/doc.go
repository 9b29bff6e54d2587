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
// drops pipelined requests they are sent again, and the origin falls back to two
// alternating connections. Parallel TCP streams over one link need one Client per
// stream. Open makes a connection before there is a request for it.
//
// HTTP/2 is chosen by ALPN over TLS, or by prior knowledge in clear.
//
// An HTTP/2 connection has no goroutine that reads. One of the callers that wait for something
// from it (a Read, or a Get for its header) reads for all of them. Payload goes from the
// connection straight into its reader's memory; only payload of a stream that is not being
// read is kept, up to that stream's window. While no caller reads, pings and settings go
// unanswered, and the server's GOAWAY or close is noticed when the connection is used next;
// the request is then sent again over a new connection.
//
// # Why not net/http
//
// Since Go 1.26 net/http has connections that belong to their caller
// (Transport.NewClientConn, http.ClientConn). Two properties of them do not fit.
//
// HTTP/1.1: a ClientConn answers one request at a time. It does not pipeline, it closes
// the connection when a body is closed early, and a goroutine of its own reads the socket
// through a buffer. A connection of this package pipelines, and large reads go straight
// to the socket, or past this process altogether (splice).
//
// HTTP/2: a ClientConn reads in a goroutine, and copies each byte into the stream's buffer
// and out of it again. Its windows are chosen once (HTTP2Config; 4 MiB a stream by
// default) and do not follow the link. golang.org/x/net/http2's ClientConn is the same
// code, is deprecated, and wraps net/http's from Go 1.27 on. Both were measured in place of
// this package's connection, below the same engine: as fast within some percent, but 20
// to 41 % more CPU over fast links, up to 2.7 times the waste over long or lossy ones, and
// up to five times the memory over loopback. docs/measured/http2-libraries.md has the figures.
//
// Frames and header compression come from x/net/http2's Framer and from hpack, which are
// not deprecated.
//
// # Windows
//
// The window of a stream is how far the server may run ahead of its reader. It follows the
// bytes that come within a round trip, or within 25 ms (see pace), from 64 KiB to 16 MiB,
// and grows ahead of TCP's slow start, so that TCP and not the window limits a link. It
// is given back in quarters. No priorities are asked for: a server that knows RFC 9218
// answers in order anyway, and RFC 7540's scheme is deprecated.
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
