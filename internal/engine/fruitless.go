package engine

import (
	"fmt"

	"github.com/mlget/mlget/internal/fetch"
)

// fruitlessMost is how many answers over a link may bring next to nothing, for each of Config.Tries,
// while nothing else comes either. Chosen by hand: it is far more than links withdraw from each other
// near the end of a file.
const fruitlessMost = 16

// forgiven is how many of them are made good by worthwhile bytes: answers of less than 1 KiB each
// are not worth their requests, even if a file comes of thousands of them some time.
const forgiven = worthwhile >> 10

// fruitless counts a request that brought some bytes and did not reach its end, and says why its link is given up: it is,
// when there were too many with too few bytes in between, over whatever link. A server that
// sends some bytes and then nothing more is no failure of its link, if the scheduler makes each
// request anew as soon as it is late: without this there would be no end to that.
func (o *owner) fruitless(t *transfer, err error) error {
	if err == nil || t.got.Load() == 0 || t.probe || t.single || o.singleStream || o.complete || o.err != nil || o.e.cfg.Tries == 0 {
		return nil
	}
	if n := (o.useful.total - o.useful.counted) / worthwhile; n > 0 {
		o.useful.counted += n * worthwhile
		for i := range o.links {
			o.links[i].faults.fruitless = int(max(0, int64(o.links[i].faults.fruitless)-n*forgiven))
		}
	}
	l := &o.links[t.link]
	if l.faults.fruitless++; l.faults.fruitless < fruitlessMost*o.e.cfg.Tries {
		return nil
	}
	return &fetch.Error{Class: fetch.Network, Err: fmt.Errorf("%d answers in a row had almost no data", l.faults.fruitless)}
}

// fruitful begins to count anew.
func (o *owner) fruitful() {
	o.useful.counted = o.useful.total
	for i := range o.links {
		o.links[i].faults.fruitless = 0
	}
}
