// Package schedtest holds the conformance suite that every scheduling policy
// passes: random links, rates, stalls, failures and joins, and a ledger of its
// own against which every action is checked.
package schedtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

// Conform drives policies through random histories and fails the test at the
// first one in which a byte is lost, fetched twice or asked for beyond the end,
// completion does not come exactly once, or nothing moves while a link lives.
func Conform(t *testing.T, newPolicy func() scheduler.Policy, histories int) {
	t.Helper()
	for seed := range uint64(histories) {
		h := Random(seed)
		cfg := h.Config
		cfg.Policy = newPolicy()
		if err := Play(h, cfg); err != nil {
			t.Fatalf("history %d: %v", seed, err)
		}
	}
}

// Play runs a history to its end and says what went wrong.
func Play(h History, cfg scheduler.Config) error {
	core, err := scheduler.New(cfg)
	if err != nil {
		return err
	}
	p := &player{
		h: h, core: core, ledger: ledger{size: h.Size}, up: make([]bool, len(h.Links)), served: make([]scheduler.Time, len(h.Links)), credit: make([]float64, len(h.Links)),
		resting: make([]bool, len(h.Links)), brought: make([]int64, len(h.Links)),
	}
	p.ledger.have = append(p.ledger.have, cfg.Have...)
	if cfg.Batch {
		slices.SortFunc(p.h.Plans, func(a, b Planned) int { return int(min(1, max(-1, a.At-b.At))) })
		p.job = newJob(p)
	}
	return p.run(cfg)
}

type request struct {
	link  scheduler.LinkID
	on    scheduler.StreamID
	id    scheduler.ChunkID
	rng   scheduler.Range
	ends  int64 // of these, where the response ends; 0: not known yet
	got   int64
	first scheduler.Time // when its first byte can be there
	last  scheduler.Time // when its last byte came, or it was sent
	copy  bool           // of bytes that another request was asked for before
}

// player is the world around the Core: links that serve their requests one
// after another.
type player struct {
	h        History
	core     *scheduler.Core
	ledger   ledger
	now      scheduler.Time
	reqs     []request
	lost     []scheduler.ChunkID // whose copies were first
	up       []bool
	served   []scheduler.Time // until when a link has delivered
	credit   []float64        // fractions of a byte
	resting  []bool           // sent to rest
	brought  []int64          // bytes of each link, those of no use included
	complete bool
	job      *job // nil: one file
	actions  []scheduler.Action
}

// tick is the step of the world's clock, and patience how long a history may
// take: far more than the slowest link that lives in the end needs.
const (
	tick     = 20 * scheduler.Millisecond
	timeout  = 10 * scheduler.Second
	patience = 40000 * scheduler.Second
)

func (p *player) run(cfg scheduler.Config) error {
	drained := int64(0)
	for p.now < patience {
		for id := range scheduler.LinkID(len(p.h.Links)) {
			if err := p.serve(id); err != nil {
				return err
			}
		}
		if cfg.Window > 0 {
			if head := p.ledger.head(); head > drained {
				drained = head
				if err := p.tell(scheduler.Input{Kind: scheduler.Drained, Bytes: drained}); err != nil {
					return err
				}
			}
		}
		if p.job != nil && !p.complete {
			if err := p.job.tick(); err != nil {
				return err
			}
		}
		if err := p.tell(scheduler.Input{Kind: scheduler.Tick}); err != nil {
			return err
		}
		if p.complete && p.job != nil {
			return p.job.whole(&p.ledger)
		}
		if p.complete {
			return p.ledger.whole()
		}
		next := p.now + tick
		if len(p.reqs) == 0 && p.core.NextWake() == scheduler.Never {
			next = p.now + scheduler.Second // only a change of phase can help
		}
		p.now = next
	}
	return fmt.Errorf("%d bytes are still missing after %v s", p.core.Left(), p.now.Seconds())
}

func (p *player) phase(id scheduler.LinkID) Phase {
	for _, ph := range p.h.Links[id].Phases {
		if p.now < ph.Until {
			return ph
		}
	}
	return Phase{}
}

// serve lets a link deliver what it can since it was last looked at.
func (p *player) serve(id scheduler.LinkID) error {
	ph := p.phase(id)
	since := p.now - p.served[id]
	p.served[id] = p.now
	if ph.Up != p.up[id] {
		p.up[id] = ph.Up
		kind := scheduler.LinkDown
		if ph.Up {
			kind = scheduler.LinkUp
		}
		if err := p.tell(scheduler.Input{Kind: kind, Link: id, Terms: p.h.Links[id].Terms}); err != nil {
			return err
		}
	}
	budget := p.credit[id] + ph.Rate*since.Seconds()
	p.credit[id] = 0
	for i := 0; i < len(p.reqs); i++ {
		rq := &p.reqs[i]
		if rq.link != id || p.now < rq.first || !ph.Up {
			continue
		}
		if ph.Fail {
			in := scheduler.Input{Kind: scheduler.Failed, Link: id, Chunk: rq.id, Bytes: rq.got, Wait: scheduler.Time(rq.id%7) * 100 * scheduler.Millisecond}
			p.drop(i)
			return p.tell(in)
		}
		if ph.Rate > 0 && p.job != nil {
			news, err := p.job.answer(rq.rng.Off)
			if err != nil || p.complete {
				return err
			}
			if news {
				i = -1
				continue
			}
		} else if ph.Rate > 0 && p.core.Size() < 0 && rq.rng.Off >= p.h.Size {
			in := scheduler.Input{Kind: scheduler.Beyond, Link: id, Chunk: rq.id, Bytes: p.h.Size, RTT: p.h.Links[id].RTT}
			p.drop(i)
			return p.tell(in)
		} else if ph.Rate > 0 && p.core.Size() < 0 { // the header tells the size
			if err := p.tell(scheduler.Input{Kind: scheduler.Sized, Bytes: p.h.Size}); err != nil {
				return err
			}
			i = -1
			continue
		}
		if told, err := p.answered(rq, ph); err != nil || p.complete {
			return err
		} else if told {
			i = -1 // others may have ended
			continue
		}
		n := min(int64(budget), rq.rng.Len()-rq.got)
		if n > 0 {
			rq.last = p.now
		} else if p.now-rq.last > timeout && i == p.oldest(id) {
			in := scheduler.Input{Kind: scheduler.Failed, Link: id, Chunk: rq.id, Bytes: rq.got, Wait: scheduler.Second}
			p.drop(i)
			return p.tell(in)
		}
		budget -= float64(n)
		rq.got += n
		p.brought[id] += n
		if most := p.h.Links[id].Terms.Cap; most > 0 && p.brought[id] > most {
			return fmt.Errorf("link %d has brought %d bytes, and may bring %d", id, p.brought[id], most)
		}
		if !rq.copy {
			if err := p.ledger.receive(scheduler.Range{Off: rq.rng.Off + rq.got - n, End: rq.rng.Off + rq.got}); err != nil {
				return err
			}
		}
		in := scheduler.Input{Kind: scheduler.Progress, Link: id, Chunk: rq.id, Bytes: rq.got, RTT: p.h.Links[id].RTT, Single: p.h.Single}
		if p.h.Lossy {
			in.Reordered = int64(p.now / (10 * scheduler.Millisecond))
			in.Behind = in.Reordered % 7 << 14
		}
		if rq.got == rq.rng.Len() {
			in.Kind = scheduler.Finished
			won := *rq
			p.drop(i)
			i--
			if won.copy {
				if err := p.win(won.rng); err != nil {
					return err
				}
			}
		}
		if err := p.tell(in); err != nil {
			return err
		}
		if budget < 1 {
			p.credit[id] = budget
			return nil
		}
	}
	return nil
}

// answered tells where the response to a request ends, if its server gives less than was
// asked for and nothing has come yet.
func (p *player) answered(rq *request, ph Phase) (told bool, err error) {
	gives := p.h.Links[rq.link].Gives
	if gives == 0 || rq.ends > 0 || ph.Rate <= 0 {
		return false, nil
	}
	id, end := rq.id, rq.rng.Off+min(gives, rq.rng.Len())
	short := end < rq.rng.End
	rq.ends = end
	if !short {
		return false, nil
	}
	if err := p.tell(scheduler.Input{Kind: scheduler.Short, Link: rq.link, Chunk: id, Bytes: gives}); err != nil {
		return false, err
	}
	if i := slices.IndexFunc(p.reqs, func(r request) bool { return r.id == id }); i >= 0 && p.reqs[i].rng.End > end {
		return true, fmt.Errorf("chunk %d waits for bytes behind %d, where its response ends", id, end)
	}
	return true, nil
}

// win books what a copy has fetched: what its original, which must be cancelled
// now, has received beyond the copy's beginning came twice.
func (p *player) win(rng scheduler.Range) error {
	i := slices.IndexFunc(p.reqs, func(r request) bool { return !r.copy && r.rng.End == rng.End })
	if i < 0 {
		return fmt.Errorf("a copy of %v has no original", rng)
	}
	rq := &p.reqs[i]
	p.lost = append(p.lost, rq.id)
	return p.ledger.receive(scheduler.Range{Off: rq.rng.Off + rq.got, End: rng.End})
}

// oldest is the request that the link is serving.
func (p *player) oldest(id scheduler.LinkID) int {
	return slices.IndexFunc(p.reqs, func(r request) bool { return r.link == id })
}

// drop forgets a request and, with it, what was still expected of it.
func (p *player) drop(i int) {
	if p.reqs[i].copy {
		p.reqs = slices.Delete(p.reqs, i, i+1)
		return
	}
	// What it has received was in flight until now, so it overlaps nothing.
	_ = p.ledger.expect(p.reqs[i].rng, scheduler.Range{Off: p.reqs[i].rng.Off, End: p.reqs[i].rng.Off + p.reqs[i].got})
	p.reqs = slices.Delete(p.reqs, i, i+1)
}

func (p *player) tell(in scheduler.Input) error {
	p.actions = p.core.Step(p.now, in, p.actions[:0])
	for _, a := range p.actions {
		if err := p.act(a); err != nil {
			return fmt.Errorf("at %v s: %+v: %w", p.now.Seconds(), a, err)
		}
	}
	return nil
}

func (p *player) act(a scheduler.Action) error {
	if p.complete {
		return fmt.Errorf("an action after completion")
	}
	i := slices.IndexFunc(p.reqs, func(r request) bool { return r.id == a.Chunk && r.link == a.Link })
	switch a.Kind {
	case scheduler.Start:
		if i >= 0 {
			return fmt.Errorf("the chunk is in flight already")
		}
		if !p.up[a.Link] {
			return fmt.Errorf("the link is down")
		}
		if p.resting[a.Link] {
			return fmt.Errorf("the link rests")
		}
		if p.job != nil {
			if err := p.job.check(a.Range); err != nil {
				return err
			}
		} else if p.core.Size() >= 0 && a.Range.End > p.h.Size {
			return fmt.Errorf("beyond the end, %d", p.h.Size)
		}
		if a.Copy {
			if err := p.copied(a.Range); err != nil {
				return err
			}
		} else if err := p.ledger.expect(scheduler.Range{}, a.Range); err != nil {
			return err
		}
		p.reqs = append(p.reqs, request{link: a.Link, on: a.Stream, id: a.Chunk, rng: a.Range, copy: a.Copy, first: p.now + p.h.Links[a.Link].RTT, last: p.now})
	case scheduler.Shrink:
		if i < 0 {
			return fmt.Errorf("no such chunk")
		}
		r := &p.reqs[i]
		if a.Range.Off != r.rng.Off || a.Range.End >= r.rng.End || a.Range.End < r.rng.Off+r.got {
			return fmt.Errorf("not a shorter %v that keeps its %d bytes", r.rng, r.got)
		}
		if !r.copy {
			if err := p.ledger.expect(r.rng, a.Range); err != nil {
				return err
			}
		}
		r.rng = a.Range
	case scheduler.Cancel:
		if i < 0 {
			return fmt.Errorf("no such chunk")
		}
		if err := p.counts(p.reqs[i], a.Range); err != nil {
			return err
		}
		p.drop(i)
	case scheduler.Complete:
		p.complete = true
		if len(p.reqs) > 0 {
			return fmt.Errorf("%d requests are still in flight", len(p.reqs))
		}
	case scheduler.Rest, scheduler.Wake:
		if a.Why == scheduler.NoReason || a.Text() == "" {
			return fmt.Errorf("no reason is given")
		}
		if a.Kind == scheduler.Wake && !p.resting[a.Link] {
			return fmt.Errorf("the link does not rest")
		}
		p.resting[a.Link] = a.Kind == scheduler.Rest
	case scheduler.Open:
		return p.opens(a)
	case scheduler.Flush:
		if !slices.ContainsFunc(p.reqs, func(q request) bool { return q.link == a.Link && q.on == a.Stream }) {
			return fmt.Errorf("nothing is in flight there")
		}
	case scheduler.Ban, scheduler.Unban: // nothing to carry out
	}
	return nil
}

// opens says what is wrong with a connection that is made before it is needed.
func (p *player) opens(a scheduler.Action) error {
	at := func(r request) bool { return r.link == a.Link }
	on := func(r request) bool { return at(r) && r.on == a.Stream }
	switch {
	case !p.up[a.Link], p.resting[a.Link]:
		return fmt.Errorf("the link is down, or rests")
	case !slices.ContainsFunc(p.reqs, at):
		return fmt.Errorf("nothing was asked of the link")
	case a.Stream < 0, a.Stream >= scheduler.MaxStreams, slices.ContainsFunc(p.reqs, on):
		return fmt.Errorf("there is no such stream, or a request is on it")
	}
	return nil
}

// copied says what is wrong with a copy of a range.
func (p *player) copied(rng scheduler.Range) error {
	for _, r := range p.reqs {
		switch {
		case r.rng.End != rng.End:
		case r.copy:
			return fmt.Errorf("%v is copied already", rng)
		case rng.Off != r.rng.Off+r.got:
			return fmt.Errorf("a copy of %v, when %d bytes of %v are there", rng, r.got, r.rng)
		default:
			return nil
		}
	}
	return fmt.Errorf("a copy of %v, which nobody fetches", rng)
}

// counts says what is wrong with the part of a cancelled request that is said to
// count: all that it has received, unless another has it too.
func (p *player) counts(r request, part scheduler.Range) error {
	if part.Off != r.rng.Off {
		return fmt.Errorf("%v is no part of %v", part, r.rng)
	}
	most := r.got
	if r.copy {
		most = 0
	}
	if n := part.Len(); n > most || n < most && !slices.Contains(p.lost, r.id) {
		return fmt.Errorf("%d bytes of %v count, but %d were received", n, r.rng, r.got)
	}
	return nil
}
