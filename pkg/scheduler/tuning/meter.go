package tuning

import "github.com/mlget/mlget/pkg/scheduler"

// meter counts what the links received and what they are taken to have drawn.
type meter struct {
	bytes  []int64 // by link, from their rates
	rest   []float64
	joules float64 // by the links' models
}

// step lets time pass.
func (m *meter) step(passed scheduler.Time, o *Observation, links []link) {
	if m.bytes == nil {
		m.bytes, m.rest = make([]int64, len(links)), make([]float64, len(links))
	}
	seconds := max(0, passed.Seconds())
	for i := range links {
		v := o.view(i)
		if !v.Up || v.Rate <= 0 {
			continue
		}
		m.rest[i] += float64(v.Rate * seconds)
		whole := int64(m.rest[i])
		m.bytes[i] += whole
		m.rest[i] -= float64(whole)
		p := v.Power
		if p == (Power{}) {
			p = DefaultPower()
		}
		watts := p.Watts + float64(p.WattsPerMbps*v.Rate*8/1e6) + float64(p.WattsPerConnection*float64(v.Streams))
		m.joules += float64(watts * seconds)
	}
}

// carried is what a link has carried so far.
func (t *Tuner) carried(i int) mark {
	return mark{at: t.now, bytes: t.meter.bytes[i], until: t.now}
}
