package study

// Bounds of what is kept of a run over time.
const (
	firstStep = 0.05 // s
	usualStep = 0.5  // s; samples come every 0.2 s, and some a moment late
	manySteps = 20   // of more than that none has to be shorter
	maxSteps  = 400
	maxPoints = 1200
	maxTime   = 1e9 // s; a record that says more is not believed
)

// meter adds up what came over a link, by time. When there would be too many steps
// it makes them twice as long.
type meter struct {
	step  float64   // s; 0: nothing came yet
	bytes []float64 // by step
	end   float64   // s: of the last that was added
}

// add books bytes that came evenly from one time to another, in s.
func (m *meter) add(from, to, bytes float64) {
	if bytes <= 0 || !(to >= 0 && to <= maxTime) {
		return
	}
	from = min(max(from, 0), to)
	m.end = max(m.end, to)
	if m.step == 0 {
		m.step = firstStep
	}
	for int(to/m.step) >= maxSteps {
		m.double()
	}
	first, last := int(from/m.step), int(to/m.step)
	for len(m.bytes) <= last {
		m.bytes = append(m.bytes, 0)
	}
	if first == last {
		m.bytes[first] += bytes
		return
	}
	rate := bytes / (to - from)
	m.bytes[first] += rate * (float64(first+1)*m.step - from)
	for i := first + 1; i < last; i++ {
		m.bytes[i] += rate * m.step
	}
	m.bytes[last] += rate * (to - float64(last)*m.step)
}

// total is all that came.
func (m *meter) total() (sum float64) {
	for _, b := range m.bytes {
		sum += b
	}
	return sum
}

// scale makes so much of each that came.
func (m *meter) scale(by float64) {
	for i := range m.bytes {
		m.bytes[i] *= by
	}
}

func (m *meter) double() {
	for i := range m.bytes {
		if i%2 == 0 {
			m.bytes[i/2] = m.bytes[i]
		} else {
			m.bytes[i/2] += m.bytes[i]
		}
	}
	m.bytes = m.bytes[:(len(m.bytes)+1)/2]
	m.step *= 2
}

// mbps is the rate in each step, in 10^6 bit/s. Nothing can be added after it.
func (m *meter) mbps() []float64 {
	for len(m.bytes) > manySteps && 2*m.step <= usualStep {
		m.double()
	}
	rates := make([]float64, len(m.bytes))
	for i, b := range m.bytes {
		rates[i] = b * 8 / 1e6 / m.step
	}
	return rates
}

// points is a bounded number of points: when there are too many, each second one
// goes, and from then on only each second, fourth, ... is taken.
type points struct {
	kept  []Point
	every int
	count int
}

func (p *points) add(x, y float64) {
	if x != x || y != y || x < -maxTime || x > maxTime {
		return
	}
	p.every = max(p.every, 1)
	p.count++
	if (p.count-1)%p.every != 0 {
		return
	}
	if len(p.kept) == maxPoints {
		for i := range maxPoints / 2 {
			p.kept[i] = p.kept[2*i]
		}
		p.kept = p.kept[:maxPoints/2]
		p.every *= 2
		if (p.count-1)%p.every != 0 {
			return
		}
	}
	p.kept = append(p.kept, Point{X: x, Y: y})
}

// shifted gives the points with the time from zero on.
func (p *points) shifted(zero float64) []Point {
	for i := range p.kept {
		p.kept[i].X -= zero
	}
	return p.kept
}
