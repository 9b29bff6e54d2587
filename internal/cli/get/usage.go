package get

import (
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// usageEvery is how often the process's usage is recorded: as often as in the thesis's
// measurements [3.1.3].
const usageEvery = time.Second

// sampleUsage publishes what the process uses, if a record is kept, until stop is
// called, which publishes it a last time.
func (o *Options) sampleUsage(bus *event.Bus, started time.Time) (stop func()) {
	if o.recordFile == "" {
		return func() {}
	}
	tell := func() {
		cpu, _ := usage()
		bus.Publish(event.Usage{At: scheduler.Time(time.Since(started)), CPU: cpu, RSS: resident(), SystemCPU: busy()})
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(usageEvery)
		defer tick.Stop()
		tell()
		for {
			select {
			case <-quit:
				tell()
				return
			case <-tick.C:
				tell()
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}
