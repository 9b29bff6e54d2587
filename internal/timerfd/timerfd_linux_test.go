package timerfd

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRings: each time that is set rings once, however soon after the last one, even if it has passed.
func TestRings(t *testing.T) {
	const times = 2000
	bell := make(chan struct{}, 2*times)
	timer, err := New(bell)
	if err != nil {
		t.Fatal(err)
	}
	for i := range times {
		timer.Set(time.Hour)
		timer.Set(time.Duration(i%3-1) * time.Microsecond)
		<-bell // a ring that is lost makes it hang
	}
	timer.Close()
	if n := len(bell); n > 0 {
		t.Errorf("%d rings more than times that were set", n)
	}
}

// TestPutOff: by the kernel's own word the time is the last one that was set.
func TestPutOff(t *testing.T) {
	timer, err := New(make(chan struct{}, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer timer.Close()
	timer.Set(time.Minute)
	timer.Set(time.Hour)
	var left unix.ItimerSpec
	if err := unix.TimerfdGettime(timer.fd, &left); err != nil {
		t.Fatal(err)
	}
	if s := left.Value.Sec; s < 30*60 || s > 60*60 || left.Interval != (unix.Timespec{}) {
		t.Errorf("%d s are left, again every %d s", s, left.Interval.Sec)
	}
}
