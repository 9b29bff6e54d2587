package timerfd

import (
	"testing"
	"time"
)

// TestRings: each time that is set rings once, however soon after the last one, and none that was put off.
func TestRings(t *testing.T) {
	bell := make(chan struct{}, 1)
	timer, err := New(bell)
	if err != nil {
		t.Fatal(err)
	}
	defer timer.Close()
	for i := range 2000 {
		timer.Set(time.Hour)
		timer.Set(time.Duration(i%3-1) * time.Microsecond)
		<-bell // a ring that is lost makes it hang
	}
	timer.Set(time.Millisecond)
	timer.Set(time.Hour)
	timer.Close()
	timer.Close()
}
