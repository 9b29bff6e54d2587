package metrics

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Describe implements prometheus.Collector.
func (r *Run) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{r.received, r.throughput, r.delta, r.size, r.remaining, r.joules, r.covered, r.begun, r.ended, r.exit} {
		descs <- d
	}
}

// Collect implements prometheus.Collector: it gives what follows from several events,
// as it stands now.
func (r *Run) Collect(metrics chan<- prometheus.Metric) {
	for _, m := range r.computed() {
		metrics <- m
	}
}

// computed gives the samples all at once, so that a slow reader does not hold up Add.
func (r *Run) computed() (samples []prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		samples = append(samples, prometheus.MustNewConstMetric(d, kind, value, labels...))
	}
	for name, now := range r.now() {
		add(r.received, prometheus.CounterValue, float64(now.bytes), name)
		add(r.throughput, prometheus.GaugeValue, now.rate, name)
	}
	if !r.endless {
		add(r.delta, prometheus.GaugeValue, r.linkDelta())
	}
	if !r.started.IsZero() {
		unix := func(after scheduler.Time) float64 {
			return float64(r.started.Add(time.Duration(after)).UnixMilli()) / 1e3
		}
		add(r.begun, prometheus.GaugeValue, unix(0))
		if r.over {
			add(r.ended, prometheus.GaugeValue, unix(r.latest))
		}
	}
	if r.over {
		add(r.exit, prometheus.GaugeValue, float64(r.exitCode))
	}
	if s, known := r.total(); known {
		add(r.size, prometheus.GaugeValue, float64(s.size))
		add(r.remaining, prometheus.GaugeValue, float64(max(s.size-s.done, 0)))
	}
	for source, p := range r.power {
		add(r.joules, prometheus.CounterValue, p.joules, source)
		if share, known := p.covered(r.latest); known {
			add(r.covered, prometheus.GaugeValue, share, source)
		}
	}
	return samples
}

// reception is a link's present reception, by the last samples of the files in progress.
type reception struct {
	bytes int64   // so far, waste included
	rate  float64 // bytes per second; 0 once the run has ended
}

// now gives the links' reception by name.
func (r *Run) now() map[string]reception {
	links := map[string]reception{}
	for i, l := range r.links {
		now, seen := links[l.name]
		if !seen {
			now.bytes = l.received
		}
		for _, f := range r.files {
			bytes, rate := f.lately(i)
			now.bytes += bytes
			if !r.over {
				now.rate += rate
			}
		}
		links[l.name] = now
	}
	return links
}

// lately is the bytes that link i has received for the file in requests that have not ended
// yet, and its rate, by the last sample.
func (f *file) lately(i int) (bytes int64, rate float64) {
	if i >= len(f.links) {
		return 0, 0
	}
	bytes, rate = f.links[i].Bytes, f.links[i].Rate
	if i < len(f.ended) {
		bytes -= f.ended[i]
	}
	return max(bytes, 0), rate
}

// linkDelta is the thesis's Link Δ in seconds, as in the report. It is NaN while the
// run is on.
func (r *Run) linkDelta() (seconds float64) {
	first, last := scheduler.Time(math.MaxInt64), scheduler.Time(0)
	for _, l := range r.links {
		if l.kept {
			first, last = min(first, l.last), max(last, l.last)
		}
	}
	switch {
	case !r.over:
		return math.NaN()
	case first > last: // nothing came
		return 0
	}
	return math.Round((last-first).Seconds()*1e6) / 1e6
}

// total is the size of all files of which it is known.
func (r *Run) total() (s span, known bool) {
	s, known = r.past, r.sized
	shared := int64(0) // what is missing of files that have no samples of their own
	for _, f := range r.files {
		if !f.known {
			continue
		}
		known = true
		done := min(f.done, f.size)
		s.size += f.size
		s.done += done
		if !f.alone {
			shared += f.size - done
		}
	}
	s.done += min(max(r.files[event.Batch].done-r.gone, 0), shared)
	return s, known
}
