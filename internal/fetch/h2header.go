package fetch

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// requestFields is the header of a GET as HTTP/2 has it (RFC 9113, 8.3.1).
func requestFields(req *http.Request) ([]hpack.HeaderField, error) {
	host := req.Host
	if host == "" {
		host = req.URL.Host
	}
	authority, err := httpguts.PunycodeHostPort(host)
	if err != nil || !httpguts.ValidHostHeader(authority) {
		return nil, protocolError("cannot make the request: invalid host %q", host)
	}
	path := req.URL.RequestURI()
	if !strings.HasPrefix(path, "/") {
		return nil, protocolError("cannot make the request: invalid path %q", path)
	}
	fields := []hpack.HeaderField{
		{Name: ":authority", Value: authority},
		{Name: ":method", Value: req.Method},
		{Name: ":path", Value: path},
		{Name: ":scheme", Value: req.URL.Scheme},
	}
	for _, key := range slices.Sorted(maps.Keys(req.Header)) {
		name := strings.ToLower(key)
		if isConnectionField(name) || name == "host" || name == "content-length" {
			continue
		}
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, protocolError("cannot make the request: invalid header name %q", key)
		}
		for _, v := range req.Header[key] {
			if !httpguts.ValidHeaderFieldValue(v) {
				return nil, protocolError("cannot make the request: invalid value of header %q", key)
			}
			switch {
			case name == "user-agent" && v == "":
			case name == "cookie":
				// In crumbs, which compress better (RFC 9113, 8.2.3).
				for crumb := range strings.SplitSeq(v, ";") {
					if crumb = strings.TrimLeft(crumb, " "); crumb != "" {
						fields = append(fields, hpack.HeaderField{Name: name, Value: crumb})
					}
				}
			default:
				fields = append(fields, hpack.HeaderField{Name: name, Value: v})
			}
		}
	}
	return fields, nil
}

// isConnectionField reports whether a header belongs to HTTP/1.1 connections and
// may not occur (RFC 9113, 8.2.2).
func isConnectionField(name string) bool {
	switch name {
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade":
		return true
	}
	return false
}

// responseOf makes the header of a response, interim or final, of a header block
// whose names and values have been checked to be such.
func responseOf(f *http2.MetaHeadersFrame, req *http.Request) (*http.Response, *Error) {
	status := f.PseudoValue("status")
	code, err := strconv.ParseUint(status, 10, 16)
	if err != nil || len(status) != 3 || code < 100 {
		return nil, protocolError("malformed response: status %q", status)
	}
	if len(f.PseudoFields()) != 1 {
		return nil, protocolError("malformed response: pseudo-headers of a request")
	}
	h := &http.Response{
		StatusCode: int(code), Proto: "HTTP/2.0", ProtoMajor: 2,
		Header: make(http.Header, len(f.Fields)), ContentLength: -1, Body: http.NoBody, Request: req,
	}
	for _, field := range f.RegularFields() {
		if isConnectionField(field.Name) {
			return nil, protocolError("malformed response: header %q", field.Name)
		}
		if field.Name == "content-length" {
			n, err := strconv.ParseUint(field.Value, 10, 63)
			if err != nil || (h.ContentLength >= 0 && h.ContentLength != int64(n)) {
				return nil, protocolError("malformed response: content-length %q", field.Value)
			}
			h.ContentLength = int64(n)
		}
		h.Header.Add(field.Name, field.Value)
	}
	return h, nil
}
