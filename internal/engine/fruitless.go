package engine

import (
	"fmt"

	"github.com/mlget/mlget/internal/fetch"
)

// fruitlessMost, times Config.Tries, is how many answers in a row over a link may bring next to nothing.
// Chosen by hand: it is far more than links withdraw from each other near the end of a file.
const fruitlessMost = 16

// forgiven is how many of them are set off by worthwhile bytes: answers of less than 1 KiB each are not
// worth their requests, even if thousands of them would make a file.
const forgiven = worthwhile >> 10

// fruitless counts a request that has brought some bytes and has not reached its end, and says why its
// link is given up, if there were too many with too few bytes, over all links, in between. The scheduler
// withdraws a request that is late and makes it anew, which counts as no failure: without this bound a
// server that sends a few bytes and then nothing would be asked for ever.
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

// fruitful begins the count anew.
func (o *owner) fruitful() {
	o.useful.counted = o.useful.total
	for i := range o.links {
		o.links[i].faults.fruitless = 0
	}
}
