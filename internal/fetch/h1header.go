package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// readHeader reads the header of an HTTP/1 response. Where a server breaks RFC 9112 it is
// as lenient as curl, as long as the header can be read in one way only: net/http is
// stricter. The body is the caller's to read: in chunks if TransferEncoding says so, else
// of ContentLength bytes, else, at -1, up to the connection's end.
func readHeader(br *bufio.Reader, req *http.Request) (*http.Response, error) {
	line, err := readLine(br)
	if err != nil {
		return nil, err
	}
	h := &http.Response{Header: make(http.Header), Body: http.NoBody, Request: req, Proto: "HTTP/1.1", ProtoMajor: 1}
	if h.ProtoMinor, h.StatusCode, err = parseStatusLine(line); err != nil {
		return nil, err
	}
	if err := readFields(br, h.Header); err != nil {
		return nil, err
	}
	return h, frameBody(h)
}

// readLine reads a line, which CR LF or LF alone ends (RFC 9112, 2.2), and returns it
// without that end, good until the next read. The meter below br bounds its length.
func readLine(br *bufio.Reader) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		var rest []byte
		line = bytes.Clone(line)
		rest, err = br.ReadBytes('\n')
		line = append(line, rest...)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), nil
}

// parseStatusLine reads "HTTP/1.x", a status of three digits, and perhaps a reason.
func parseStatusLine(line []byte) (minor, status int, err error) {
	version, rest, _ := strings.Cut(string(line), " ")
	name, number, _ := strings.Cut(version, "/")
	switch {
	case !strings.EqualFold(name, "HTTP") || len(number) != 3 || !isDigits(number[:1]+number[2:]) || number[1] != '.':
		return 0, 0, fmt.Errorf("not an HTTP response: %.40q", line)
	case number[0] != '1':
		return 0, 0, fmt.Errorf("HTTP/%s in answer to HTTP/1.1", number)
	}
	code, _, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	if len(code) != 3 || !isDigits(code) || code[0] == '0' {
		return 0, 0, fmt.Errorf("malformed status: %.40q", line)
	}
	return int(number[2] - '0'), int(code[0]-'0')*100 + int(code[1]-'0')*10 + int(code[2]-'0'), nil
}

func isDigits(s string) bool {
	_, ok := parseDecimal(s)
	return ok
}

// readFields reads the fields of a header up to the empty line behind it.
func readFields(br *bufio.Reader, h http.Header) error {
	var name, value string
	begun := false // there is a field, which the next line may continue
	for {
		line, err := readLine(br)
		if err != nil {
			return err
		}
		if len(line) > 0 && (line[0] == ' ' || line[0] == '\t') { // obsolete folding (RFC 9112, 5.2)
			if !begun {
				return fmt.Errorf("malformed header: it begins with white space: %.40q", line)
			}
			value = strings.TrimSpace(value + " " + string(bytes.Trim(line, " \t")))
			continue
		}
		if begun {
			if err := addField(h, name, value); err != nil {
				return err
			}
		}
		if len(line) == 0 {
			return nil
		}
		var ok bool
		if name, value, ok = strings.Cut(string(line), ":"); !ok {
			return fmt.Errorf("malformed header: no colon in %.40q", line)
		}
		// White space before the colon: RFC 9112, 5.1 has clients of a proxy never see it.
		name, value, begun = strings.TrimRight(name, " \t"), strings.Trim(value, " \t"), true
	}
}

// addField adds a field to a header. One that cannot be is passed over, as it cannot be one
// that matters; but what its value says of the body must not be lost, nor may NUL end a
// value for some and not for others.
func addField(h http.Header, name, value string) error {
	key := textproto.CanonicalMIMEHeaderKey(name)
	ofBody := strings.HasPrefix(key, "Content-") || strings.HasPrefix(key, "Transfer-")
	switch {
	case strings.Contains(name, "\x00") || strings.Contains(value, "\x00"):
		return fmt.Errorf("malformed header: NUL in %.40q", name)
	case !httpguts.ValidHeaderFieldName(name):
	case httpguts.ValidHeaderFieldValue(value):
		h.Add(key, value)
	case ofBody:
		return fmt.Errorf("malformed header: %s: %.40q", key, value)
	}
	return nil
}

// frameBody says how long the body is, and whether the connection ends with it (RFC 9112, 6.3
// and 9.3).
func frameBody(h *http.Response) error {
	coded, err := isChunked(h.Header["Transfer-Encoding"])
	if err != nil {
		return err
	}
	length, err := contentLength(h.Header["Content-Length"])
	if err != nil {
		return err
	}
	old := h.ProtoMinor == 0
	h.Close = httpguts.HeaderValuesContainsToken(h.Header["Connection"], "close") ||
		old && !httpguts.HeaderValuesContainsToken(h.Header["Connection"], "keep-alive")
	tunnel := h.Request.Method == http.MethodConnect && h.StatusCode/100 == 2
	switch {
	case tunnel || h.StatusCode/100 == 1 || h.StatusCode == http.StatusNoContent || h.StatusCode == http.StatusNotModified:
		h.ContentLength = 0
	case coded:
		h.ContentLength, h.TransferEncoding = -1, []string{"chunked"}
		// An intermediary that read it otherwise may disagree about where it ends.
		h.Close = h.Close || old || length >= 0
	default:
		h.ContentLength = length
		h.Close = h.Close || length < 0
	}
	return nil
}

// isChunked says whether the body comes in chunks. "identity" was a transfer coding once,
// and means none; that the only one is named twice says no more than once, as it may not be
// applied twice (RFC 9112, 6.1).
func isChunked(lines []string) (bool, error) {
	chunked := false
	for _, line := range lines {
		for coding := range strings.SplitSeq(line, ",") {
			switch coding = strings.ToLower(strings.Trim(coding, " \t")); coding {
			case "", "identity":
			case "chunked":
				chunked = true
			default:
				return false, fmt.Errorf("unknown transfer-encoding %.40q", line)
			}
		}
	}
	return chunked, nil
}

// contentLength is the length of a body; -1: unknown. Repeated lengths have to be the same each
// time (RFC 9110, 8.6).
func contentLength(lines []string) (int64, error) {
	if len(lines) == 0 {
		return -1, nil
	}
	values := strings.Split(strings.Join(lines, ","), ",")
	first := strings.Trim(values[0], " \t")
	n, ok := parseDecimal(first)
	if !ok || slices.ContainsFunc(values, func(v string) bool { return strings.Trim(v, " \t") != first }) {
		return 0, fmt.Errorf("bad content-length %.60q", strings.Join(lines, ", "))
	}
	return n, nil
}
