// Package units reads and writes sizes and rates as people give and read them.
// All functions are pure and safe for concurrent use.
package units

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ErrSyntax says that a text is not a size.
var ErrSyntax = errors.New("want a number with K, M, G (1024) or KB, MB, GB (1000)")

// ErrRange says that a size does not fit into 63 bits.
var ErrRange = errors.New("number too large")

const longest = 64 // bytes of text; no sensible size is longer

// ParseSize reads a number of bytes: digits, perhaps with a decimal fraction,
// and perhaps a unit. K, M, G, T (and KiB, MiB, GiB, TiB) are powers of 1024;
// KB, MB, GB, TB are powers of 1000; B is one byte. Case does not matter. A
// fraction of a byte is cut off. The error wraps ErrSyntax or ErrRange.
func ParseSize(text string) (int64, error) {
	n, err := parse(text)
	if err != nil {
		return 0, fmt.Errorf("size %q: %w", clip(text), err)
	}
	return n, nil
}

// ParseRate reads a rate in bytes per second: a size as ParseSize takes it,
// with or without "/s" behind it.
func ParseRate(text string) (int64, error) {
	number := text
	if cut := len(text) - len("/s"); cut > 0 && strings.EqualFold(text[cut:], "/s") {
		number = text[:cut]
	}
	n, err := parse(number)
	if err != nil {
		return 0, fmt.Errorf("rate %q: %w", clip(text), err)
	}
	return n, nil
}

func parse(text string) (int64, error) {
	if len(text) > longest {
		return 0, ErrSyntax
	}
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || text[end] == '.') {
		end++
	}
	unit, ok := unitOf(text[end:])
	if !ok {
		return 0, ErrSyntax
	}
	whole, fraction, point := strings.Cut(text[:end], ".")
	if whole == "" || point && fraction == "" {
		return 0, ErrSyntax
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n > math.MaxInt64/unit {
		return 0, ErrRange // whole holds nothing but digits
	}
	n *= unit
	if point {
		// The integer part stays exact; only the fraction goes through a float.
		f, err := strconv.ParseFloat("0."+fraction, 64)
		if err != nil { // a second point
			return 0, ErrSyntax
		}
		part := int64(f * float64(unit))
		if n > math.MaxInt64-part {
			return 0, ErrRange
		}
		n += part
	}
	return n, nil
}

func unitOf(text string) (int64, bool) {
	switch strings.ToLower(text) {
	case "", "b":
		return 1, true
	case "k", "kib":
		return 1 << 10, true
	case "m", "mib":
		return 1 << 20, true
	case "g", "gib":
		return 1 << 30, true
	case "t", "tib":
		return 1 << 40, true
	case "kb":
		return 1e3, true
	case "mb":
		return 1e6, true
	case "gb":
		return 1e9, true
	case "tb":
		return 1e12, true
	}
	return 0, false
}

// clip keeps a hostile text from filling an error message.
func clip(text string) string {
	if len(text) > longest {
		return text[:longest] + "..."
	}
	return text
}
