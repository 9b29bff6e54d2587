package tuning

import "github.com/mlget/mlget/pkg/scheduler"

// meter counts what the links received and what they are taken to have drawn.
type meter struct {
	bytes  []int64 // by link, from their rates
	rest   []float64
	joules float64 // by the Tuner's own model
}

// step lets time pass.
func (m *meter) step(p *Power, passed scheduler.Time, o *Observation, links []link) {
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
		watts := p.Watts + float64(p.WattsPerMbps*v.Rate*8/1e6) + float64(p.WattsPerConnection*float64(v.Streams))
		m.joules += float64(watts * seconds)
	}
}

// spent is what has been spent up to now, by what the driver knows or by the
// model.
func (m *meter) spent(o *Observation) float64 {
	if o.Joules >= 0 {
		return o.Joules
	}
	return m.joules
}
