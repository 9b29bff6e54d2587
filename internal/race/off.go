//go:build !race

// Package race lets tests that only compute do less of it under the race detector,
// which makes them ten times as slow.
package race

// Enabled says whether the race detector is built in.
const Enabled = false
