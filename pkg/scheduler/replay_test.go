package scheduler_test

import (
	"math/rand/v2"
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

// record drives a Core with made-up inputs, some of them senseless.
func record(t testing.TB, cfg scheduler.Config, seed uint64, n int) []scheduler.Recorded {
	c, err := scheduler.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	var steps []scheduler.Recorded
	now := scheduler.Time(0)
	got := map[scheduler.ChunkID]int64{}
	for range n {
		now += scheduler.Time(r.Int64N(int64(50 * scheduler.Millisecond)))
		id := scheduler.ChunkID(r.IntN(40))
		got[id] += r.Int64N(200000)
		in := scheduler.Input{
			Kind: scheduler.InputKind(r.IntN(15)), Link: scheduler.LinkID(r.IntN(4)), Chunk: id,
			Bytes: got[id], RTT: scheduler.Time(r.Int64N(1e8)), Wait: scheduler.Time(r.Int64N(1e9)),
		}
		steps = append(steps, scheduler.Recorded{At: now, Input: in, Actions: c.Step(now, in, nil)})
	}
	return steps
}

func TestTheSameInputsGiveTheSameActions(t *testing.T) {
	for name, p := range policies(t) {
		for seed := range uint64(50) {
			cfg := scheduler.Config{Links: 3, Size: -1, Policy: p()}
			steps := record(t, cfg, seed, 400)
			cfg.Policy = p()
			if err := scheduler.Replay(cfg, steps); err != nil {
				t.Fatalf("%s, seed %d: %v", name, seed, err)
			}
			if len(steps) > 0 && seed == 0 { // a replay that differs must say so
				steps[len(steps)-1].Actions = append(steps[len(steps)-1].Actions, scheduler.Action{Kind: scheduler.Ban})
				cfg.Policy = p()
				if scheduler.Replay(cfg, steps) == nil {
					t.Fatalf("%s: a false record was accepted", name)
				}
			}
		}
	}
}
