package proxy

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/mlget/mlget/internal/errno"
)

// Histogram counts how long connecting took: Counts[i] within Bounds()[i] and beyond the
// bound before, the last one beyond all. The zero value is empty.
type Histogram struct {
	Counts [11]uint64
	Sum    time.Duration
}

// Bounds are a histogram's upper bounds, those of Prometheus's clients up to 10 s but for the
// least: no link connects within 5 ms.
func (Histogram) Bounds() [10]time.Duration {
	const ms = time.Millisecond
	return [...]time.Duration{10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms, time.Second, 2500 * ms, 5 * time.Second, 10 * time.Second}
}

func (h *Histogram) add(took time.Duration) {
	i := 0
	for bounds := h.Bounds(); i < len(bounds) && took > bounds[i]; {
		i++
	}
	h.Counts[i]++
	h.Sum += took
}

// The words for what a connection was made for.
const (
	httpProtocol    = "http"
	gatewayProtocol = "gateway"
	connectProtocol = "connect"
	socks4Protocol  = "socks4"
	socks5Protocol  = "socks5"
)

// Protocols are the words for what a connection was made for.
func Protocols() []string {
	return []string{httpProtocol, gatewayProtocol, connectProtocol, socks4Protocol, socks5Protocol}
}

// The reasons for which connecting fails.
const (
	reasonName        = "name"
	reasonRefused     = "refused"
	reasonReset       = "reset"
	reasonTimeout     = "timeout"
	reasonUnreachable = "unreachable"
	reasonOther       = "other"
)

// Reasons are the words for why connecting fails.
func Reasons() []string {
	return []string{reasonName, reasonRefused, reasonReset, reasonTimeout, reasonUnreachable, reasonOther}
}

func reasonOf(err error) string {
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &dns):
		return reasonName
	case errno.IsRefused(err):
		return reasonRefused
	case errno.IsReset(err):
		return reasonReset
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return reasonTimeout
	case isUnreachable(err):
		return reasonUnreachable
	}
	return reasonOther
}
