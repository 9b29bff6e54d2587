package sim

import "github.com/mlget/mlget/pkg/scheduler"

// consumer is who reads the object in order while it comes, at a rate of its
// own: a player of video, say.
type consumer struct {
	perSecond float64        // bytes
	at        scheduler.Time // when it last read
	read      float64        // bytes
}

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
	r.step(scheduler.Input{Kind: scheduler.Drained, Bytes: int64(c.read)})
}
