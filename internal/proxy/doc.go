// Package proxy carries other programs' connections over several links: each goes to
// the link that will serve it soonest.
//
// One port speaks four protocols, told apart by a connection's first byte: HTTP
// (absolute-form requests and CONNECT, by net/http), SOCKS5, SOCKS4 and SOCKS4a. A
// connection that the proxy makes for a client is a tunnel, whatever the protocol; it
// belongs to one link until it ends. TLS is never opened: a tunnel's bytes are carried
// as they are.
//
// Contract: a Server is safe for concurrent use. Serve returns when its listener is
// closed or its context ends and the tunnels have ended or had their time. SetLinks
// may be called at any time; tunnels of links that are gone end at once with RST.
package proxy
