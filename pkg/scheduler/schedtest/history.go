package schedtest

import (
	"math/rand/v2"

	"github.com/mlget/mlget/pkg/scheduler"
)

// Link is one link's behaviour in a history. Rates are in bytes per second.
type Link struct {
	RTT    scheduler.Time
	Terms  scheduler.Terms
	Gives  int64 // the most bytes that its server gives at once; 0: as many as one likes
	Phases []Phase
}

// Phase is a stretch of a link's life; the last one lasts for ever.
type Phase struct {
	Until scheduler.Time
	Rate  float64 // 0: nothing arrives
	Up    bool    // false: the link is reported as down
	Fail  bool    // every request fails after a round trip
}

// History is a whole run: what the Core is told, and how the links behave.
type History struct {
	Config scheduler.Config // without a Policy
	Size   int64            // the object's, which Config may not know
	Links  []Link
	Lossy  bool // packets are reported as out of order
	Single bool // each request needs a connection of its own

	// Of a batch: its files, and plans in the order of their times.
	Files []File
	Plans []Planned
}

// Random gives the history of a seed. Every history has a link that lives in
// the end, so that every one can be completed.
func Random(seed uint64) History {
	r := rand.New(rand.NewPCG(seed, 2019))
	n := 1 + r.IntN(4)
	h := History{Size: r.Int64N(1 << (10 + r.IntN(18)))}
	h.Config = scheduler.Config{Links: n, Size: h.Size, NoSteal: r.IntN(4) == 0, NoFailover: r.IntN(8) == 0}
	if r.IntN(2) == 0 {
		h.Config.Size = -1
	}
	if r.IntN(2) == 0 {
		h.Config.First = 1 + r.Int64N(1<<21)
	}
	if r.IntN(3) == 0 {
		h.Config.Overlap = 0.1 + 0.8*r.Float64()
	}
	if r.IntN(3) == 0 {
		h.Config.Parallelism = 1 + r.IntN(scheduler.MaxStreams)
	}
	h.Lossy = r.IntN(4) == 0
	h.Single = rand.New(rand.NewPCG(seed, 1945)).IntN(4) == 0
	if r.IntN(4) == 0 {
		h.Config.Window = 1<<16 + r.Int64N(1<<22)
	}
	if h.Config.Size > 0 && r.IntN(3) == 0 {
		at := int64(0)
		for at < h.Size {
			off := at + r.Int64N(h.Size/4+1)
			end := off + 1 + r.Int64N(h.Size/8+1)
			if end > h.Size {
				break
			}
			h.Config.Have = append(h.Config.Have, scheduler.Range{Off: off, End: end})
			at = end + 1
		}
	}
	for i := range n {
		l := Link{RTT: scheduler.Time(1+r.IntN(400)) * scheduler.Millisecond}
		at := scheduler.Time(0)
		for range r.IntN(5) {
			at += scheduler.Time(r.Int64N(int64(8 * scheduler.Second)))
			l.Phases = append(l.Phases, Phase{Until: at, Rate: rate(r), Up: r.IntN(5) > 0, Fail: r.IntN(6) == 0})
		}
		last := Phase{Until: scheduler.Never, Rate: rate(r), Up: r.IntN(2) == 0}
		if i == n-1 {
			last.Up, last.Rate = true, max(last.Rate, 1e5)
		}
		l.Phases = append(l.Phases, last)
		h.Links = append(h.Links, l)
	}
	h.bound(rand.New(rand.NewPCG(seed, 9110)))
	h.ration(rand.New(rand.NewPCG(seed, 2013)))
	return h
}

// bound has servers of some histories give no more than so many bytes at once.
func (h *History) bound(r *rand.Rand) {
	if r.IntN(4) > 0 {
		return
	}
	for i := range h.Links {
		if r.IntN(3) > 0 {
			h.Links[i].Gives = 1 + r.Int64N(max(h.Size/8, 1<<14))
		}
	}
}

// ration puts terms on the links of every other history: roles, caps, and what
// they cost, with a rule that goes by it. The link that lives in the end may
// carry everything.
func (h *History) ration(r *rand.Rand) {
	if r.IntN(2) == 0 {
		return
	}
	h.Config.Energy = scheduler.EnergyMode(r.IntN(len(scheduler.EnergyNames())))
	if r.IntN(3) == 0 {
		h.Config.Deadline = scheduler.Time(1 + r.Int64N(int64(60*scheduler.Second)))
	}
	for i := range h.Links {
		t := &h.Links[i].Terms
		t.Backup, t.Costly = r.IntN(4) == 0, r.IntN(2) == 0
		if r.IntN(3) == 0 && i < len(h.Links)-1 {
			t.Cap = 1 + r.Int64N(h.Size+1)
		}
		if r.IntN(2) == 0 {
			t.Usual = rate(r)
		}
		if r.IntN(4) > 0 {
			t.Radio = scheduler.Radio{
				ActiveMW: r.Float64() * 3000, MWPerMbps: r.Float64() * 200, PromotionMJ: r.Float64() * 500,
				TailMJ: r.Float64() * 13000, TailTime: scheduler.Time(r.Int64N(int64(12 * scheduler.Second))),
			}
		}
	}
}

func rate(r *rand.Rand) float64 {
	if r.IntN(6) == 0 {
		return 0
	}
	return 1e4 * float64(int64(1)<<r.IntN(11))
}
