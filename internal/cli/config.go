package cli

import (
	"math"
	"time"

	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// engine makes the configuration of the downloads.
func (o *getOptions) engine(web fetch.Config, bus *event.Bus, started time.Time) engine.Config {
	cfg := engine.Config{
		HTTP: web, Bus: bus, Started: started,
		Algorithm: o.algorithm, StaticLimit: o.staticLimit.bytes, Padding: o.padding, Overlap: float64(o.overlap),
		NoSteal: o.noSteal, NoFailover: o.noFailover, Parallelism: o.parallelism.n,
		BlockSize: int(o.blockSize.bytes), Tries: o.tries.n, ErrorTries: o.tries.errors(), StallTimeout: o.timeout,
		Record: o.recordFile != "",
	}
	cfg.Energy, cfg.Offload, _ = scheduler.ParseEnergy(o.energy) // check has seen to it
	if cfg.Tries == 0 {                                          // as in wget
		cfg.Tries = math.MaxInt
	}
	cfg.LimitRate = engine.NewLimiter(o.limitRate.bytes, cfg.BlockSize)
	return cfg
}
