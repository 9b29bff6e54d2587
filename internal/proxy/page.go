package proxy

import (
	"fmt"
	"html"
	"net"
	"net/http"
	"strings"
	"time"
)

// pac tells browsers to use the proxy (a proxy auto-configuration file), but for names and
// addresses of the place where they are.
const pac = `function FindProxyForURL(url, host) {
  if (isPlainHostName(host) || host == "[::1]" || shExpMatch(host, "127.*") || shExpMatch(host, "10.*") ||
      shExpMatch(host, "192.168.*") || shExpMatch(host, "169.254.*") || dnsDomainIs(host, ".local") || dnsDomainIs(host, ".localhost"))
    return "DIRECT";
  return "PROXY %s; DIRECT";
}
`

// serveOwn answers for the proxy's own paths.
func (s *Server) serveOwn(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	switch {
	case r.URL.Path == "/healthz" && len(s.Links()) == 0:
		http.Error(w, errNoLink.Error(), http.StatusServiceUnavailable)
	case r.URL.Path == "/healthz":
		_, _ = fmt.Fprintln(w, "ok")
	case r.URL.Path == "/proxy.pac":
		h.Set("Content-Type", "application/x-ns-proxy-autoconfig")
		host := r.Host
		if _, _, err := net.SplitHostPort(host); err != nil {
			host += ":80"
		}
		_, _ = fmt.Fprintf(w, pac, host)
	case isForeign(r):
		http.Error(w, "this is for the proxy's own users", http.StatusForbidden)
	case r.URL.Path == "/metrics" && s.config.Load().Metrics != nil:
		s.config.Load().Metrics.ServeHTTP(w, r)
	case r.URL.Path == "/":
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
		h.Set("Cache-Control", "no-store")
		h.Set("Refresh", "2")
		_, _ = w.Write(s.page())
	default:
		http.NotFound(w, r)
	}
}

const pageHead = `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>mlget proxy</title>
<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:1em auto;max-width:48em;padding:0 1em}
table{border-collapse:collapse;width:100%}th,td{text-align:right;padding:.3em .4em;border-bottom:1px solid #8886}
th:first-child,td:first-child{text-align:left}div{overflow-x:auto}@media(max-width:32em){table{font-size:.75em}}</style>
<h1>mlget proxy</h1><div><table><tr><th>Link<th>Connections<th>Now, Mbit/s<th>Best, Mbit/s<th>Round trip, ms<th>Received, MB<th>Sent, MB<th>Failures</tr>
`

// page is what a person sees of the proxy.
func (s *Server) page() []byte {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, l := range s.Links() {
		failures := 0
		for _, n := range l.Failures {
			failures += n
		}
		fmt.Fprintf(&b, "<tr><td>%s<td>%d<td>%.1f<td>%.1f<td>%d<td>%.1f<td>%.1f<td>%d</tr>\n", html.EscapeString(l.Name), l.Tunnels,
			l.Rate*8e-6, l.Capacity*8e-6, l.RTT/time.Millisecond, float64(l.Down)/1e6, float64(l.Up)/1e6, failures)
	}
	fmt.Fprintf(&b, "</table></div><p>%d files came over several links at once.</p></html>\n", s.Spreads())
	return []byte(b.String())
}
