//go:build unix

package main_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// poweredSite is a server whose one file takes a while, and a device that draws power
// by what the server does: base, more while it sends, and a tail after that. The
// device's battery shows it twenty times a second.
type poweredSite struct {
	battery     string
	base, above float64 // W; the tail is half of above
	tail        time.Duration

	mu         sync.Mutex
	begun, end time.Time // of the sending
}

// watts is the power at a moment.
func (s *poweredSite) watts(now time.Time) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.begun.IsZero():
		return s.base
	case s.end.IsZero() || now.Before(s.end):
		return s.base + s.above
	case now.Before(s.end.Add(s.tail)):
		return s.base + s.above/2
	}
	return s.base
}

// show keeps the gauge up to date until stop is closed.
func (s *poweredSite) show(stop <-chan struct{}) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		file := filepath.Join(s.battery, "power_now")
		_ = os.WriteFile(file+".new", fmt.Appendln(nil, int64(s.watts(time.Now())*1e6)), 0o644)
		_ = os.Rename(file+".new", file) // what goes wrong shows in the joules
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// serve sends size bytes in so many seconds.
func (s *poweredSite) serve(size int, takes time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		const parts = 60
		w.Header().Set("Content-Length", fmt.Sprint(size))
		s.mu.Lock()
		s.begun = time.Now()
		s.mu.Unlock()
		for i := range parts {
			_, _ = w.Write(make([]byte, size/parts)) // a client that is gone fails the test elsewhere
			w.(http.Flusher).Flush()
			if i < parts-1 {
				time.Sleep(takes / parts)
			}
		}
		s.mu.Lock()
		s.end = time.Now()
		s.mu.Unlock()
	})
}

// TestJoulesOfTheProgram: the program, asked nothing but to measure, says what the
// device has really drawn, above its base and in its tail.
func TestJoulesOfTheProgram(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := &poweredSite{battery: phone(t, filepath.Join(dir, "sys")), base: 0.8, above: 1.8, tail: 3 * time.Second}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		s.show(stop)
	}()
	defer func() { <-done }()
	defer close(stop)
	site := httptest.NewServer(s.serve(6_000_000, 6*time.Second))
	defer site.Close()
	time.Sleep(100 * time.Millisecond) // for the gauge to be there
	p := startMlget(t, dir, "--sysfs", "sys", "--power", "battery", "--power-baseline", "3s", "--tail", "6s", "--report", "r.json", site.URL+"/f.bin")
	p.end(t).want(t, 0)
	r := readReport(t, filepath.Join(dir, "r.json"))
	if r.Energy == nil {
		t.Fatalf("%+v, %q", r.Power, r.EnergyUnavailable)
	}
	s.mu.Lock()
	dynamic := s.above * s.end.Sub(s.begun).Seconds()
	s.mu.Unlock()
	tail := s.above / 2 * s.tail.Seconds()
	e := r.Energy
	t.Logf("%.2f J and %.2f J of tail, really %.2f and %.2f; %+v", e.DynamicJoules, e.TailJoules, dynamic, tail, r.Power)
	// Twice what is asked of the readings alone: the machine may be busy.
	if math.Abs(e.DynamicJoules/dynamic-1) > 0.04 || math.Abs(e.TailJoules/tail-1) > 0.15 || e.TailCut || !r.Power.BaseMeasured {
		t.Errorf("%.2f J and %.2f J of tail, really %.2f and %.2f; %+v, %+v", e.DynamicJoules, e.TailJoules, dynamic, tail, r.Power, e)
	}
	if e.LowJoules == nil || *e.LowJoules > dynamic || *e.HighJoules < dynamic {
		t.Errorf("%+v, really %.2f J", e, dynamic)
	}
}
