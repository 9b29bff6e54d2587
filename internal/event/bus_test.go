package event

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func drain(s *Subscription) (all []Event) {
	for buf, ok := s.Next(nil); ok; buf, ok = s.Next(buf) {
		all = append(all, buf...)
	}
	return all
}

func TestLifecycleEventsAreLosslessAndOrdered(t *testing.T) {
	var b Bus
	one, two := b.Subscribe(), b.Subscribe()
	var wg sync.WaitGroup
	var got [2][]Event
	for i, s := range []*Subscription{one, two} {
		wg.Go(func() { got[i] = drain(s) })
	}
	const n = 10000
	for i := range n {
		b.Publish(Notice{Text: fmt.Sprint(i)})
	}
	b.Close()
	b.Publish(Notice{Text: "too late"})
	wg.Wait()
	for _, events := range got {
		if len(events) != n {
			t.Fatalf("%d events of %d arrived", len(events), n)
		}
		for i, e := range events {
			if e.(Notice).Text != fmt.Sprint(i) {
				t.Fatalf("event %d is %v", i, e)
			}
		}
	}
}

func TestASlowWatcherLosesOnlySamples(t *testing.T) {
	var b Bus
	s := b.Subscribe()
	for range 3 * sampleBacklog {
		b.Publish(Sample{})
		b.Publish(Power{})
		b.Publish(Notice{})
	}
	b.Close()
	samples, powers, notices := 0, 0, 0
	for _, e := range drain(s) {
		switch e.(type) {
		case Sample:
			samples++
		case Power:
			powers++
		case Notice:
			notices++
		}
	}
	if notices != 3*sampleBacklog {
		t.Errorf("%d notices of %d arrived", notices, 3*sampleBacklog)
	}
	for _, n := range []int{samples, powers} {
		if n >= 3*sampleBacklog || n == 0 {
			t.Errorf("%d samples, %d readings of power kept", samples, powers)
		}
	}
}

func TestNextWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Bus
		s := b.Subscribe()
		got := make(chan int, 2)
		go func() {
			e, _ := s.Next(nil)
			got <- len(e)
			_, ok := s.Next(nil)
			if !ok {
				got <- 0
			}
		}()
		synctest.Wait()
		b.Publish(Notice{})
		synctest.Wait()
		b.Close()
		if a, z := <-got, <-got; a != 1 || z != 0 {
			t.Fatalf("got %d, then %d events", a, z)
		}
	})
}
