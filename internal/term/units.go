package term

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Bytes gives a number of bytes in units of 1024, as "146.2 MiB".
func Bytes(n int64) string {
	if n > -1024 && n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	x := float64(n)
	for _, unit := range []string{"KiB", "MiB", "GiB", "TiB", "PiB"} {
		x /= 1024
		// 1023.95 would be printed as 1024.0.
		if math.Abs(x) < 1023.95 {
			return fmt.Sprintf("%.1f %s", x, unit)
		}
	}
	return fmt.Sprintf("%.1f EiB", x/1024)
}

// Mbit gives a rate in bytes per second as 10^6 bit/s, as "82.1 Mbit/s".
func Mbit(bytesPerSecond float64) string {
	return strconv.FormatFloat(bytesPerSecond*8/1e6, 'f', 1, 64) + " Mbit/s"
}

// Clock gives a span in whole seconds, in the two largest units that it needs:
// "9s", "2m05s", "3h07m", "4d02h". A negative span counts as none.
func Clock(d time.Duration) string {
	s := int64(max(d, 0).Round(time.Second) / time.Second)
	const minute, hour, day = 60, 3600, 86400
	switch {
	case s < minute:
		return fmt.Sprintf("%ds", s)
	case s < hour:
		return fmt.Sprintf("%dm%02ds", s/minute, s%minute)
	case s < day:
		return fmt.Sprintf("%dh%02dm", s/hour, s%hour/minute)
	default:
		return fmt.Sprintf("%dd%02dh", s/day, s%day/hour)
	}
}
