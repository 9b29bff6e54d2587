package units

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Bytes writes a number of bytes for people, in units of 1024: "17 B",
// "1.5 KiB", "238.4 MiB".
func Bytes(n int64) string {
	sign, v := "", float64(n)
	if n < 0 {
		sign, v = "-", -v
	}
	return sign + scaled(v, 1024, [...]string{" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"})
}

// Rate writes a rate given in bytes per second for people, in bits per second
// and units of 1000: "64.0 Mbit/s". What is no rate (negative, NaN, infinite)
// is written "-".
func Rate(bytesPerSecond float64) string {
	if !(bytesPerSecond >= 0) || math.IsInf(bytesPerSecond, 1) {
		return "-"
	}
	return scaled(bytesPerSecond*8, 1000,
		[...]string{" bit/s", " kbit/s", " Mbit/s", " Gbit/s", " Tbit/s", " Pbit/s", " Ebit/s"})
}

// Mbps turns bytes per second into megabits (10^6) per second.
func Mbps(bytesPerSecond float64) float64 { return bytesPerSecond * 8 / 1e6 }

func scaled(v, base float64, names [7]string) string {
	i := 0
	// 0.05 short of the base would be rounded up to it: "1024.0 KiB".
	for i < len(names)-1 && (v >= base || i > 0 && v >= base-0.05) {
		v /= base
		i++
	}
	if i == 0 {
		return strconv.FormatFloat(v, 'f', 0, 64) + names[0]
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + names[i]
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
