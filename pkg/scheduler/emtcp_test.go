package scheduler

import (
	"slices"
	"testing"
)

// consumed is in what portions a stream is read: the engine's blocks.
const consumed = 128 << 10

// twoLinks plays a cheap link 0 and a costly link 1 of given rates, each of which
// answers one request after the other, and a consumer of a stream.
type twoLinks struct {
	*rig
	rates   [2]float64 // bytes per second
	consume float64    // bytes per second; 0: nobody reads it in order
	open    [2][]Action
	got     map[ChunkID]int64
	carried [2]int64
	read    float64
	rested  bool // the costly link had carried its share
	over    bool
}

func playTwo(t *testing.T, cfg Config, rates [2]float64, consume float64) *twoLinks {
	t.Helper()
	cfg.Links, cfg.Policy = 2, &algorithm1{limit: 1 << 20}
	p := &twoLinks{rig: newRig(t, cfg), rates: rates, consume: consume, got: map[ChunkID]int64{}}
	radio := cheapRadio()
	for id := range LinkID(2) {
		p.step(Input{Kind: LinkUp, Link: id, RTT: 20 * Millisecond, Terms: Terms{Radio: radio, Costly: id == 1}})
		radio.MWPerMbps *= 3
	}
	p.take(p.step(Input{Kind: Tick}))
	return p
}

func (p *twoLinks) take(acts []Action) {
	for _, a := range acts {
		drop := func(o Action) bool { return o.Chunk == a.Chunk }
		switch a.Kind {
		case Start:
			p.open[a.Link] = append(p.open[a.Link], a)
		case Shrink:
			if i := slices.IndexFunc(p.open[a.Link], drop); i >= 0 {
				p.open[a.Link][i].Range = a.Range
			}
		case Cancel:
			p.open[a.Link] = slices.DeleteFunc(p.open[a.Link], drop)
		case Rest:
			p.rested = p.rested || a.Link == 1 && a.Why == ReasonShare
		case Complete:
			p.over = true
		case Wake, Ban, Unban, Open, Flush:
		}
	}
}

// until plays until a time, or the end.
func (p *twoLinks) until(end Time) {
	for p.now < end && !p.over {
		p.now += 10 * Millisecond
		for id := range LinkID(2) {
			if len(p.open[id]) == 0 || p.rates[id] == 0 {
				continue
			}
			a := p.open[id][0]
			n := min(int64(p.rates[id]/100), a.Range.Len()-p.got[a.Chunk])
			p.got[a.Chunk] += n
			p.carried[id] += n
			kind := Progress
			if p.got[a.Chunk] >= a.Range.Len() {
				kind = Finished
				p.open[id] = p.open[id][1:]
			}
			p.take(p.step(Input{Kind: kind, Link: id, Chunk: a.Chunk, Bytes: p.got[a.Chunk], RTT: 20 * Millisecond}))
		}
		if p.consume > 0 {
			p.read = min(p.read+p.consume/100, float64(p.core.Prefix()))
			p.take(p.step(Input{Kind: Drained, Bytes: int64(p.read) / consumed * consumed}))
		}
		p.take(p.step(Input{Kind: Tick}))
	}
}

// part is what the costly link has carried of all.
func (p *twoLinks) part() float64 {
	return float64(p.carried[1]) / float64(p.carried[0]+p.carried[1])
}

// Chen, V.C: 24 % of what the costly link would carry goes to the cheap one, or
// what the user says; of a file it rests then.
func TestEMTCPShiftsTheShareOfAFile(t *testing.T) {
	for offload, want := range map[float64]float64{0: 0.38, 0.24: 0.38, 0.1: 0.45, 0.5: 0.25, 1: 0} {
		p := playTwo(t, Config{Size: 64 << 20, Energy: EnergyEMTCP, Offload: offload}, [2]float64{4e6, 4e6}, 0)
		p.until(60 * Second)
		if got := p.part(); !p.over || !p.rested || got < want-0.01 || got > want+0.01 {
			t.Errorf("share %v: the costly link carried %.3f, want %.2f; it rested: %v", offload, got, want, p.rested)
		}
	}
}

// The stream of Chen's cases 3 and 4: 2 Mbit/s, a buffer of 2.55 MB, and links
// that carry 1.10 and 1.31.
func chenStream(t *testing.T, mode EnergyMode) *twoLinks {
	t.Helper()
	return playTwo(t, Config{Size: 37_500_000, Window: 2_550_000, Energy: mode, NoFailover: true}, [2]float64{137_500, 163_750}, 250_000)
}

// Chen, III: while the cheap link is idle, the costly one gives of its share what
// the cheap one can carry.
func TestEMTCPMovesAStreamToAnIdleLink(t *testing.T) {
	off, rule := chenStream(t, EnergyOff), chenStream(t, EnergyEMTCP)
	off.until(200 * Second)
	rule.until(200 * Second)
	if off.part() < 0.51 || rule.part() < 0.44 || rule.part() > 0.475 {
		t.Errorf("the costly link carried %.3f without the rule, and %.3f with it", off.part(), rule.part())
	}
	for _, p := range []*twoLinks{off, rule} { // the video lasts 150 s
		if !p.over || p.now > 150*Second {
			t.Errorf("it took %.1f s", p.now.Seconds())
		}
	}
}

// A cheap link that is busy takes nothing more: as long as the buffer fills, the
// costly one carries its share.
func TestEMTCPLeavesAStreamWithABusyLink(t *testing.T) {
	p := chenStream(t, EnergyEMTCP)
	p.until(20 * Second)
	if p.part() < 0.53 {
		t.Errorf("the costly link carried %.3f while both were busy", p.part())
	}
}

// Chen, IV, step 2: while the cheap link is congested the costly one carries what
// it can; with both congested, it waits.
func TestEMTCPTurnsFromACongestedLink(t *testing.T) {
	p := chenStream(t, EnergyEMTCP)
	p.until(80 * Second)
	for !p.core.links[1].linkUse.cheapIdle && p.now < 140*Second {
		p.until(p.now + 10*Millisecond)
	}
	p.rates[0] = 0
	p.until(p.now + 1100*Millisecond)
	p.core.links[1].linkUse.cheapIdle = true
	if size := (View{p.core}).emtcp().limit(1, 1000); size != 1000 || (View{p.core}).emtcp().overShare(1) {
		t.Errorf("beside a congested link the costly one may be asked for %d of 1000 bytes", size)
	}
	before := p.carried[1]
	p.until(p.now + 2*Second)
	if got := float64(p.carried[1]-before) / (2 * p.rates[1]); got < 0.9 {
		t.Errorf("beside a congested link the costly one carried %.2f of what it can", got)
	}
	p.rates[0], p.rates[1] = 137_500, 163_750
	p.until(p.now + 20*Second)
	p.rates = [2]float64{}
	p.until(p.now + 1200*Millisecond)
	if size := (View{p.core}).emtcp().limit(1, 1000); size != 0 {
		t.Errorf("with both congested, it may be asked for %d bytes", size)
	}
}
