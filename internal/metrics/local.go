package metrics

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// localOnly answers requests for this machine alone, where it is this machine alone that a
// listener serves: a page of the web whose host's name has come to lead to 127.0.0.1 (DNS
// rebinding) could read what is said there, and its browser names that host.
func localOnly(l net.Listener, h http.Handler) http.Handler {
	at, ok := l.Addr().(*net.TCPAddr)
	if !ok || !at.IP.IsLoopback() {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isLocal(r.Host) {
			http.Error(w, "there is localhost, and no other host", http.StatusMisdirectedRequest)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// isLocal says whether a Host header names this machine as everybody does: localhost or a
// loopback address. HTTP/1.0 has none, and no browser speaks that.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "" || strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return err == nil && ip.Unmap().IsLoopback()
}
