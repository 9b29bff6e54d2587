package sim

// Quantile is the q-quantile, 0 to 1, of sorted values, interpolated; 0 of none.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := float64(q * float64(len(sorted)-1))
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	part := at - float64(i)
	return sorted[i] + float64(part*(sorted[i+1]-sorted[i]))
}
