package fetch

import (
	"net/http"
	"testing"
	"time"
)

// A date in Retry-After is meant by the server's clock, not by ours, which may be
// hours off.
func TestRetryAfterByTheServersClock(t *testing.T) {
	for name, c := range map[string]struct {
		date  time.Duration // the server's clock minus ours; 0: it does not tell
		after time.Duration // the date in Retry-After minus the server's clock
		want  time.Duration
	}{
		"as ours":      {time.Second, 7 * time.Second, 7 * time.Second},
		"ours is late": {5 * time.Hour, 7 * time.Second, 7 * time.Second},
		"ours is fast": {-5 * time.Hour, 7 * time.Second, 7 * time.Second},
		"long":         {-5 * time.Hour, 5 * time.Hour, maxRetryAfter},
		"past":         {5 * time.Hour, -time.Second, 0},
		"not told":     {0, -5 * time.Second, 0},
	} {
		server := time.Now().Add(c.date).UTC()
		h := &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}}
		h.Header.Set("Retry-After", server.Add(c.after).Format(http.TimeFormat))
		if c.date != 0 {
			h.Header.Set("Date", server.Format(http.TimeFormat))
		}
		if got := statusError(h).RetryAfter; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
