package energy

import (
	"math"
	"testing"
)

// The thesis's table 7.9: seconds, main integral and utilisation, with the medians
// of its synthetic test (table 7.1c) as full load.
func TestUtilisationSkjolden745(t *testing.T) {
	const s6, s7 = 4.16, 4.95 // W
	for _, row := range []struct{ watts, seconds, joules, percent float64 }{
		{s6, 26.06, 58.68, 54.13},
		{s6, 52.97, 103.10, 46.78},
		{s6, 32.36, 89.16, 66.23},
		{s6, 18.35, 77.67, 101.75},
		{s6, 18.86, 77.07, 98.24},
		{s6, 16.68, 75.53, 108.86},
		{s7, 26.25, 50.20, 38.63},
		{s7, 33.79, 66.83, 39.95},
		{s7, 18.99, 58.28, 62.00},
		{s7, 17.88, 59.82, 67.59},
		{s7, 18.44, 62.29, 68.24},
		{s7, 16.55, 62.13, 75.84},
	} {
		if got := 100 * Utilisation(row.joules, row.watts, row.seconds); math.Abs(got-row.percent) > 0.01 {
			t.Errorf("%.2f J in %.2f s of %.2f W: %.2f %%, in the thesis %.2f", row.joules, row.seconds, row.watts, got, row.percent)
		}
	}
	if Utilisation(10, 0, 5) != 0 || Utilisation(10, 5, 0) != 0 {
		t.Error("what is not known is a part of something")
	}
}
