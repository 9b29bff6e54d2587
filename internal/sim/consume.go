package sim

import "github.com/mlget/mlget/pkg/scheduler"

// consumer is who reads the object in order while it comes, at a rate of its
// own: a player of video, say.
type consumer struct {
	perSecond float64        // bytes
	at        scheduler.Time // when it last read
	read      float64        // bytes
	told      int64          // bytes
}

// consumed is in what portions it reads: the engine's blocks.
const consumed = 128 << 10

// consume lets the consumer read what is there, and tells the scheduler.
func (r *run) consume() {
	c := &r.consumer
	if c.perSecond <= 0 || !r.sized {
		return
	}
	head := int64(0)
	if done := r.core.Done(nil); len(done) > 0 && done[0].Off == 0 {
		head = done[0].End
	}
	c.read = min(float64(head), c.read+float64(c.perSecond*(r.now-c.at).Seconds()))
	c.at = r.now
	if read := int64(c.read) / consumed * consumed; read > c.told {
		c.told = read
		r.step(scheduler.Input{Kind: scheduler.Drained, Bytes: read})
	}
}

// lasts is in how many seconds from the beginning on the consumer has read all.
func (c *consumer) lasts(now scheduler.Time, size int64) float64 {
	if c.perSecond <= 0 {
		return now.Seconds()
	}
	return max(now.Seconds(), c.at.Seconds()+(float64(size)-c.read)/c.perSecond)
}
