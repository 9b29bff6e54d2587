package fetch

import (
	"net/http"
	"strings"
	"time"
)

// maxRetryAfter bounds what a server can make us wait: beyond it the caller's
// own patience should decide, not the server.
const maxRetryAfter = 10 * time.Minute

// parseRetryAfter reads both forms of Retry-After, seconds and an HTTP date (RFC 9110, 10.2.3),
// the latter against now. An absent, past or malformed value is 0; the result is never above
// maxRetryAfter.
func parseRetryAfter(s string, now time.Time) time.Duration {
	s = strings.Trim(s, " \t")
	if n, ok := parseDecimal(s); ok {
		return time.Duration(min(n, int64(maxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(s)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
