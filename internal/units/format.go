package units

import (
	"fmt"
	"strconv"
	"time"
)

// Bytes writes a number of bytes for people, in units of 1024: "17 B",
// "1.5 KiB", "238.4 MiB".
func Bytes(n int64) string {
	names := [...]string{" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"}
	sign, v, i := "", float64(n), 0
	if n < 0 {
		sign, v = "-", -v
	}
	// 0.05 short of 1024 would be rounded up to it: "1024.0 KiB".
	for i < len(names)-1 && (v >= 1024 || i > 0 && v >= 1024-0.05) {
		v /= 1024
		i++
	}
	digits := 1
	if i == 0 {
		digits = 0
	}
	return sign + strconv.FormatFloat(v, 'f', digits, 64) + names[i]
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
