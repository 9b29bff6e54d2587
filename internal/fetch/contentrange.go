package fetch

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// contentRange is a parsed Content-Range, half-open.
type contentRange struct {
	off, end    int64 // [off, end); meaningless when unsatisfied
	total       int64 // size of the object, -1 when the server says "*"
	unsatisfied bool  // "bytes */N", as with 416
}

// errContentRange says that a Content-Range is not one we understand.
var errContentRange = errors.New("malformed content-range")

// parseContentRange parses "bytes a-b/total", "bytes a-b/*" and "bytes */total"
// (RFC 9110, 14.4). It is strict: a range that could be read in two ways would
// put bytes at the wrong place.
func parseContentRange(s string) (contentRange, error) {
	unit, rest, ok := strings.Cut(strings.Trim(s, " \t"), " ")
	if !ok || !strings.EqualFold(unit, "bytes") {
		return contentRange{}, errContentRange
	}
	span, size, ok := strings.Cut(rest, "/")
	if !ok {
		return contentRange{}, errContentRange
	}
	r := contentRange{total: -1}
	if size != "*" {
		if r.total, ok = parseDecimal(size); !ok {
			return contentRange{}, errContentRange
		}
	}
	if span == "*" {
		r.unsatisfied = true
		if r.total < 0 {
			return contentRange{}, errContentRange
		}
		return r, nil
	}
	first, last, ok := strings.Cut(span, "-")
	if !ok {
		return contentRange{}, errContentRange
	}
	a, okA := parseDecimal(first)
	b, okB := parseDecimal(last)
	if !okA || !okB || b < a || b == math.MaxInt64 || (r.total >= 0 && b >= r.total) {
		return contentRange{}, errContentRange
	}
	r.off, r.end = a, b+1
	return r, nil
}

// rangeHeader is the value of a Range header for [off, end): the one place where
// a half-open range becomes HTTP's inclusive one.
func rangeHeader(off, end int64) string {
	return "bytes=" + strconv.FormatInt(off, 10) + "-" + strconv.FormatInt(end-1, 10)
}

// parseDecimal parses one or more ASCII digits, nothing else, below 2^63.
func parseDecimal(s string) (int64, bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
