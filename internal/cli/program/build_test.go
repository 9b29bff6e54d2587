package program

import "testing"

func TestPositionIndependent(t *testing.T) {
	for _, c := range []struct {
		system, mode string
		want         bool
	}{
		{"android", "exe", true}, // what Go notes of a program built without -buildmode
		{"android", "pie", true},
		{"linux", "exe", false},
		{"linux", "pie", true},
	} {
		if got := positionIndependent(c.system, c.mode); got != c.want {
			t.Errorf("%s for %s: %v", c.mode, c.system, got)
		}
	}
}
