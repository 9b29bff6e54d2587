package progress

import (
	"testing"
	"time"
)

// TestTerse: the expectations are what aria2 1.36 writes.
func TestTerse(t *testing.T) {
	for n, want := range map[float64]string{
		0: "0", 921: "921", 922: "0.9Ki", 16 << 10: "16Ki", 4505 << 10: "4.3Mi", 10 << 20: "10Mi", 9.99 * 1024 * 1024: "9.9Mi",
		921 << 10: "921Ki", 1000 << 10: "0.9Mi", 57 << 20: "57Mi", 3 << 30: "3.0Gi", 2 << 40: "2048Gi",
	} {
		if got := terse(n); got != want {
			t.Errorf("%v bytes are %q, want %q", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{time.Second: "1s", 61 * time.Second: "1m1s", 3734 * time.Second: "1h2m14s", 5900 * time.Millisecond: "5s"} {
		if got := terseTime(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestReadoutIsAMode(t *testing.T) {
	for _, r := range []Readout{{}, {IsHidden: true, Summary: time.Minute, Results: "hide"}, {Results: "full"}} {
		m, err := ParseMode(string(r.Mode()))
		if got, ok := m.readout(); err != nil || !ok || got != r {
			t.Errorf("%+v: %q, %+v, %v", r, m, got, err)
		}
	}
	for _, bad := range []string{"aria2", "aria2:", "aria2:false:x:default", "aria2:false:1:a:b"} {
		if m, err := ParseMode(bad); err == nil {
			t.Errorf("%q is a mode: %q", bad, m)
		}
	}
}
