package main_test

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
)

// TestMemoryIsItsOwn: the peak is mlget's, not that of whoever started it.
func TestMemoryIsItsOwn(t *testing.T) {
	ballast := make([]byte, 200e6)
	for i := 0; i < len(ballast); i += 4096 {
		ballast[i] = 1 // or it would not be resident
	}
	s, dir := newSite(t), t.TempDir()
	mlget(t, dir, "--report", "r.json", fmt.Sprintf("%s/ranges/1000/x", s.clear.URL)).want(t, 0)
	if r := readReport(t, filepath.Join(dir, "r.json")); r.MaxRSSBytes < 1e6 || r.MaxRSSBytes > 100e6 {
		t.Errorf("peak memory %d bytes", r.MaxRSSBytes)
	}
	runtime.KeepAlive(ballast)
}
