package sim

import (
	"fmt"
	"math/rand/v2"

	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// RandomFiles makes up a job of many files from a seed: over links as Random makes
// them, 2 to 2000 files, alike or not, with as many bytes as Random's together, in
// the modes in turn, by hand as well as by the scheduler alone; of known and of
// unknown sizes.
func RandomFiles(seed uint64) Config {
	cfg := Random(seed)
	rng := rand.New(rand.NewPCG(seed, 0x66696c6573))
	cfg.Scenario.Name = fmt.Sprintf("files:%d", seed)
	cfg.Algorithm = "3"
	b := &Batch{Name: cfg.Scenario.Name, Known: rng.IntN(3) == 0}
	switch seed % 5 {
	case 0:
		b.Untuned = true
	case 1:
		b.Tuning.Mode = tuning.HAT
	case 2:
		b.Tuning.Mode = tuning.EHT
	case 3:
		b.Tuning.Mode = tuning.LowE
	case 4:
		b.Tuning = tuning.Config{Mode: tuning.Manual, Concurrency: 1 + rng.IntN(32), Parallelism: 1 + rng.IntN(4)}
	}
	n := octaves(rng, 2, 2000)
	mean := max(1, cfg.Size/n)
	unlike := octaves(rng, 1, 64) // the largest may be so many times the smallest
	for range n {
		f := max(1, mean/unlike)
		b.Files = append(b.Files, f*(1+rng.Int64N(2*unlike-1)))
	}
	cfg.Batch, cfg.Size = b, b.Bytes()
	return cfg
}
