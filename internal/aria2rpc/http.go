package aria2rpc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// maxRequest is aria2's default of rpc-max-request-size.
const maxRequest = 2 << 20

// ServeHTTP answers a request at /jsonrpc.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != "/jsonrpc":
		w.WriteHeader(http.StatusNotFound)
		return
	case !s.calls.Allow():
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	case !s.mayCall(r):
		http.Error(w, "this origin or host name is not allowed: see --rpc-allow-origin", http.StatusForbidden)
		return
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Vary", "Origin")
	}
	switch r.Method {
	case http.MethodOptions:
		w.Header().Set("Access-Control-Allow-Methods", "POST, GET, OPTIONS")
		w.Header().Set("Access-Control-Allow-Headers", "Content-Type")
		w.Header().Set("Access-Control-Max-Age", "1728000")
	case http.MethodPost:
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err != nil {
			http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
			return
		}
		s.reply(w, s.parse(r.Context(), text), "")
	case http.MethodGet:
		if isWebSocket(r) {
			s.serveWebSocket(w, r)
			return
		}
		s.get(w, r)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (s *Server) parse(ctx context.Context, text []byte) any {
	v, err := decode(text)
	if err != nil {
		return failure(nil, err)
	}
	return s.request(ctx).answer(v)
}

// isCallback says whether a JSONP callback may be called name.
func isCallback(name string) bool {
	return regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$.]{0,127}$`).MatchString(name)
}

// get answers a call that stands in the URL, or a batch, which is params alone.
func (s *Server) get(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	name := q.Get("jsoncallback")
	if name != "" && !isCallback(name) {
		http.Error(w, "jsoncallback is no name", http.StatusBadRequest)
		return
	}
	call := map[string]any{}
	if text := q.Get("params"); text != "" {
		plain, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(text, " ", "+"))
		var p any
		if err == nil {
			p, err = decode(plain)
		}
		if err != nil {
			s.reply(w, failure(nil, &callError{codeParse, "Parse error."}), name)
			return
		}
		if !q.Has("method") {
			s.reply(w, s.request(r.Context()).answer(p), name)
			return
		}
		call["params"] = p
	}
	for _, member := range []string{"method", "id"} {
		if q.Has(member) {
			call[member] = q.Get(member)
		}
	}
	s.reply(w, s.request(r.Context()).answer(call), name)
}

// reply sends an answer; a callback's name makes it JSONP.
func (s *Server) reply(w http.ResponseWriter, answer any, callback string) {
	status := http.StatusOK
	if one, ok := answer.(response); ok {
		status = one.status()
	}
	text := encode(answer)
	kind := "application/json-rpc"
	if callback != "" {
		kind = "text/javascript"
		text = slices.Concat([]byte(callback+"("), text, []byte(")"))
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client has gone
}

func encode(answer any) []byte {
	text, err := json.Marshal(answer)
	if err != nil { // an id that JSON has no word for
		text, _ = json.Marshal(failure(nil, err))
	}
	return text
}

// mayCall says whether a request may be answered. Browsers send the pages of all sites here:
// a page has to be of an allowed origin, or our own. A name that somebody else lets point to
// this machine is not ours.
func (s *Server) mayCall(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	anyone := slices.Contains(s.Origins, "*")
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case !s.AnyHost && !ownName(r.Host):
		return false
	case anyone:
		return true
	case origin != "":
		u, err := url.Parse(origin)
		return slices.Contains(s.Origins, origin) || err == nil && u.Host == r.Host && u.Host != ""
	default: // an image, a script (JSONP), a link
		return site == "" || site == "none" || site == "same-origin" || r.Method == http.MethodGet && slices.Contains(s.Origins, originOf(r.Referer()))
	}
}

// originOf is the origin of a page, which a browser tells as Referer where it sends no Origin.
// Pages cannot have it tell another page's.
func originOf(page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// ownName says whether a Host header names this machine: by an address, or as localhost.
func ownName(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	_, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil || strings.EqualFold(name, "localhost") || name == ""
}
