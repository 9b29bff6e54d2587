package engine

import (
	"fmt"

	"github.com/mlget/mlget/internal/fetch"
)

// fruitlessMost is how many answers over a link may bring next to nothing, for each of Config.Tries,
// while nothing else comes either. Chosen by hand: it is far more than links withdraw from each other
// near the end of a file.
const fruitlessMost = 16

// fruitless counts a request that brought some bytes and did not reach its end, and says why its link is given up: it is,
// when there were too many without worthwhile bytes in between, over whatever link. A server that
// sends some bytes and then nothing more is no failure of its link, if the scheduler makes each
// request anew as soon as it is late: without this there would be no end to that.
func (o *owner) fruitless(t *transfer, err error) error {
	if err == nil || t.got.Load() == 0 || t.probe || t.whole || o.whole || o.complete || o.err != nil || o.e.cfg.Tries == 0 {
		return nil
	}
	if o.gained-o.gainedAt >= worthwhile {
		o.fruitful()
	}
	l := &o.links[t.link]
	if l.fruitless++; l.fruitless < fruitlessMost*o.e.cfg.Tries {
		return nil
	}
	return &fetch.Error{Class: fetch.Network, Err: fmt.Errorf("%d answers brought next to nothing", l.fruitless)}
}

// fruitful begins to count anew.
func (o *owner) fruitful() {
	o.gainedAt = o.gained
	for i := range o.links {
		o.links[i].fruitless = 0
	}
}
