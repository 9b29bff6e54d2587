package get

import (
	"runtime"
	"time"

	"github.com/mlget/mlget/internal/event"
)

const (
	// busyFrom is the part of one processor's time from which on more are of use, and calmBelow
	// that below which one is enough. Chosen by hand, far from each other.
	busyFrom  = 0.5
	calmBelow = 0.2
	// busyOver and calmOver are for how long the part is measured.
	busyOver = 150 * time.Millisecond
	calmOver = 3 * time.Second
)

// processors chooses how many processors goroutines run on. A link's bytes keep a fraction of
// one busy, and each wake-up makes Go's runtime start a thread on every other one to look for
// work: half of a download's context switches.
type processors struct {
	many  bool
	since time.Duration // when the present measurement began
	cpu   time.Duration // the process's until then
}

// observe takes the CPU time that the process has used by now, and reports whether it should
// run on many processors.
func (p *processors) observe(now, cpu time.Duration) (many bool) {
	over := now - p.since
	part := float64(cpu-p.cpu) / float64(max(1, over))
	switch {
	case over < busyOver, p.many && over < calmOver:
		return p.many
	case p.many:
		p.many = part >= calmBelow
	default:
		p.many = part >= busyFrom
	}
	p.since, p.cpu = now, cpu
	return p.many
}

// adjustProcessors has goroutines run on one processor until the process needs more, as the
// samples of sub come.
func adjustProcessors(sub *event.Subscription) {
	runtime.GOMAXPROCS(1)
	defer runtime.SetDefaultGOMAXPROCS()
	p := processors{cpu: cpuTime()}
	for e := range sub.All() {
		s, ok := e.(event.Sample)
		if !ok {
			continue
		}
		before := p.many
		switch many := p.observe(time.Duration(s.At), cpuTime()); {
		case many == before:
		case many:
			runtime.SetDefaultGOMAXPROCS()
		default:
			runtime.GOMAXPROCS(1)
		}
	}
}
