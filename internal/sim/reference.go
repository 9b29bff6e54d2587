package sim

import (
	"fmt"

	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/pkg/scheduler"
)

// endless is the length in bytes of a response without an end.
const endless = int64(1) << 60

// Reference is how long the links would take, in seconds, if each carried one
// endless response over one connection from the beginning, and a new one from
// the moment at which it comes back: what perfect scheduling could make of TCP
// as the model has it. Unlike the fluid bound it counts slow start, so that it
// is the yardstick for small files and long round trips. It is no bound where a
// link fails, since a scheduler that waits for a retransmission may do better, or
// loses packets, since several connections may.
func (c *Config) Reference() (float64, error) {
	cfg := *c
	var err error
	if cfg.Scenario, err = cfg.Scenario.Complete(); err != nil {
		return 0, err
	}
	links := make([]link, len(cfg.Scenario.Links))
	for i := range links {
		links[i] = newLink(&cfg, i)
		links[i].apply(0)
		links[i].send(0, stream(links[i].id))
	}
	missing := float64(cfg.Size)
	for now := scheduler.Time(0); ; {
		next, rate := toTime(scenario.MaxAt), 0.0
		for i := range links {
			l := &links[i]
			next = min(next, l.plan(now))
			for _, k := range l.conns {
				if k.n > 0 && k.queue[0].done >= headerBytes-tiny {
					rate += k.rate
				}
			}
		}
		done := float64(rate * (next - now).Seconds())
		switch {
		case done >= missing:
			return now.Seconds() + missing/rate, nil
		case next >= toTime(scenario.MaxAt):
			return 0, fmt.Errorf("%w: %.0f bytes are missing", ErrNever, missing)
		}
		missing -= done
		for i := range links {
			l := &links[i]
			l.advance(now, next)
			was := l.down()
			l.apply(next)
			if l.joinAt <= next {
				l.arrive(next)
			}
			if was && !l.down() {
				l.drop(func(*conn) bool { return true })
				l.send(next, stream(l.id))
			}
			for _, k := range l.conns {
				if k.queue[0].reached() {
					k.queue[0].answered = true
				}
			}
		}
		now = next
	}
}

func stream(id scheduler.LinkID) *request {
	return &request{link: id, asked: endless, wanted: endless}
}
