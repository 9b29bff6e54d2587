package proxy

import (
	"net/http"
	"net/url"
	"strings"
)

// The gateway is for programs that have no proxy to set, or one that may not read TLS:
// /https://HOST/PATH is what https://HOST/PATH leads to, over all links. All sites have one
// origin there, so that what one could do to another, or to this machine, is left out.

// destination is the URL that a path of the gateway stands for.
func destination(requestURI string) (*url.URL, bool) {
	scheme, rest, _ := strings.Cut(strings.TrimPrefix(requestURI, "/"), "/")
	// Some clients take // in a path for one slash, and some percent-encode colons in it.
	rest = strings.TrimPrefix(rest, "/")
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	host, err := url.PathUnescape(rest[:end])
	if scheme, ok := strings.CutSuffix(strings.Replace(strings.ToLower(scheme), "%3a", ":", 1), ":"); err == nil && ok && (scheme == "https" || scheme == "http") {
		u, err := url.Parse(scheme + "://" + host + rest[end:])
		return u, err == nil && u.Hostname() != "" && u.Host == host && u.User == nil
	}
	return nil, false
}

// isForeign says whether a browser sends a request for another site than the proxy's own.
func isForeign(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site != "none" && site != "same-origin"
	}
	origin := r.Header.Get("Origin")
	return origin != "" && origin != "http://"+r.Host
}

// gateway fetches what a path stands for.
func (s *Server) gateway(w http.ResponseWriter, r *http.Request, u *url.URL) {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the gateway only fetches", http.StatusMethodNotAllowed)
		return
	case isForeign(r), r.Header.Get("Service-Worker") != "":
		http.Error(w, "another site's page may not use the gateway", http.StatusForbidden)
		return
	}
	r = r.Clone(r.Context())
	if s.config.Load().Users != nil { // the password was the proxy's own
		r.Header.Del("Authorization")
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "Sec-Fetch-") {
			delete(r.Header, name)
		}
	}
	for _, name := range []string{"Cookie", "Origin", "Referer"} { // they are of the proxy's own origin
		r.Header.Del(name)
	}
	r.Header.Del("Upgrade")
	r.URL, r.Host = u, u.Host
	s.forward(w, r, s.toGateway, gatewayProtocol)
}

// tame takes out of an answer what would let a site act upon others.
func tame(resp *http.Response) error {
	h := resp.Header
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") {
			delete(h, name)
		}
	}
	for _, name := range []string{
		"Set-Cookie", "Set-Cookie2", "Clear-Site-Data", "Strict-Transport-Security", "Service-Worker-Allowed",
		"Www-Authenticate", "Alt-Svc", "Refresh", "Content-Location",
	} {
		h.Del(name)
	}
	h.Add("Content-Security-Policy", "sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	if to := h.Get("Location"); to != "" {
		h.Del("Location")
		if u, err := resp.Request.URL.Parse(to); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil {
			h.Set("Location", "/"+u.String())
		}
	}
	return nil
}
