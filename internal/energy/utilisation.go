package energy

// Utilisation is the part of what a device can draw that a run drew: its energy,
// base power included, over what full load would have taken in the same time
// (skjolden, 7.4.5). 0: the full load is not known.
func Utilisation(joules, fullLoadWatts, seconds float64) float64 {
	if fullLoadWatts <= 0 || seconds <= 0 {
		return 0
	}
	return joules / (fullLoadWatts * seconds)
}
