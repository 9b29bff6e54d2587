package scenario

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Bounds of a trace: an hour, and 60,000 packets in one millisecond (720 Gbit/s).
const (
	maxTraceMs    = 3600 * 1000
	maxPerMs      = 60000
	traceBits     = 1500 * 8 // what one opportunity carries
	maxTraceBytes = 256 << 20
)

// Trace is the shape of a link's rate over time in steps of one millisecond,
// as recorded on a real network; it repeats at its end.
type Trace struct {
	perMs []uint16 // opportunities of 1500 bytes in each millisecond
	total int64
}

// ParseTrace reads a trace as mahimahi writes it: each line is a time in ms,
// in order, at which one packet of 1500 bytes can leave; the last one is the
// period. It fails on anything else, on more than an hour, and on an empty or
// zero-length trace.
func ParseTrace(r io.Reader) (*Trace, error) {
	t := &Trace{}
	sc := bufio.NewScanner(io.LimitReader(r, maxTraceBytes))
	last := int64(0)
	for n := 1; sc.Scan(); n++ {
		text := strings.TrimSpace(sc.Text())
		if text == "" {
			continue
		}
		at, err := strconv.ParseInt(text, 10, 64)
		if err != nil || at < 0 {
			return nil, fmt.Errorf("line %d: not a time in ms", n)
		}
		if at < last {
			return nil, fmt.Errorf("line %d: %d ms comes before %d ms", n, at, last)
		}
		if at > maxTraceMs {
			return nil, fmt.Errorf("line %d: a trace lasts at most %d ms", n, maxTraceMs)
		}
		last = at
		// An opportunity at t belongs to the ms that ends at t, so that the
		// period is the last line; those at 0 come with the first one.
		slot := max(at, 1) - 1
		for int64(len(t.perMs)) <= slot {
			t.perMs = append(t.perMs, 0)
		}
		if t.perMs[slot] == maxPerMs {
			return nil, fmt.Errorf("line %d: more than %d packets in one ms", n, maxPerMs)
		}
		t.perMs[slot]++
		t.total++
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	if last == 0 {
		return nil, errors.New("a trace needs a time above 0 ms")
	}
	return t, nil
}

// Period is the time after which the trace repeats.
func (t *Trace) Period() time.Duration { return time.Duration(len(t.perMs)) * time.Millisecond }

// MeanMbps is the mean rate over a period, in 10^6 bit/s.
func (t *Trace) MeanMbps() float64 {
	return float64(t.total) * traceBits / t.Period().Seconds() / 1e6
}

// shape is the rate in the given millisecond relative to the mean.
func (t *Trace) shape(tick int64) float64 {
	n := int64(len(t.perMs))
	return float64(t.perMs[tick%n]) * float64(n) / float64(t.total)
}
