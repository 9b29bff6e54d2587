package plot

import (
	"math"
	"strconv"
	"strings"
)

// scale maps values to pixels.
type scale struct {
	from, to float64 // values
	a, b     float64 // pixels
	step     float64 // between ticks
}

// newScale covers min to max, rounded outwards to ticks of 1, 2, 2.5 or 5 times a power of
// ten, of which there are about n.
func newScale(low, high float64, n int, a, b float64) scale {
	if !finite(low) || !finite(high) || high <= low {
		high = low + 1
		if !finite(high) || high <= low {
			low, high = 0, 1
		}
	}
	raw := (high - low) / float64(n)
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	step := unit * 10
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*unit >= raw*0.999 && (m != 2.5 || unit >= 10) { // 25 is easily read, 2.5 less so
			step = m * unit
			break
		}
	}
	return scale{from: math.Floor(low/step+1e-9) * step, to: math.Ceil(high/step-1e-9) * step, a: a, b: b, step: step}
}

// at is where a value stands.
func (s scale) at(v float64) float64 {
	return s.a + (v-s.from)/(s.to-s.from)*(s.b-s.a)
}

// within is where a value stands, or the nearest edge.
func (s scale) within(v float64) float64 { return min(max(s.at(v), s.a), s.b) }

// label is a tick's text, with as many decimals as the step needs.
func (s scale) label(v float64) string {
	decimals := 0
	for d := s.step; decimals < 6 && math.Abs(d-math.Round(d)) > 1e-9; d *= 10 {
		decimals++
	}
	if math.Abs(v) >= 1e5 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" { // a zero of whichever sign
		return strings.TrimPrefix(text, "-")
	}
	return text
}
