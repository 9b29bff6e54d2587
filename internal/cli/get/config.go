package get

import (
	"math"
	"time"

	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/pkg/scheduler"
)

// engine makes the configuration of the downloads.
func (o *Options) engine(web fetch.Config, bus *event.Bus, started time.Time) engine.Config {
	cfg := engine.Config{
		HTTP: web, Bus: bus, Started: started,
		Algorithm: o.algorithm, StaticLimit: o.staticLimit.Bytes, Padding: float64(o.padding), Overlap: float64(o.overlap),
		NoSteal: o.noSteal, NoFailover: o.noFailover, Parallelism: o.parallelism.N,
		BlockSize: int(o.blockSize.Bytes), Tries: o.tries.N, ErrorTries: o.tries.Errors(), StallTimeout: o.timeout,
		Record: o.recordFile != "",
	}
	cfg.Energy, cfg.Offload, _ = scheduler.ParseEnergy(o.power.policy) // check has seen to it
	if cfg.Tries == 0 {                                                // as in wget
		cfg.Tries = math.MaxInt
	}
	cfg.RetryFor = scheduler.Time(o.request.retryFor)
	if o.request.alone() && !o.tries.Given() { // what a request does need not be the same twice
		cfg.Tries, cfg.ErrorTries = 1, 1
	}
	cfg.LimitRate = engine.NewLimiter(o.limitRate.Bytes, cfg.BlockSize)
	return cfg
}
