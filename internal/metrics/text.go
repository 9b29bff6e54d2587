package metrics

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// ContentType is that of Text: Prometheus's text format.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Text is the run in Prometheus's text format, as it stands now. Metrics whose
// value is not known, or not yet, are left out.
func (r *Run) Text() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := page{text: make([]byte, 0, 8<<10)}
	links := r.distinct()
	r.perLink(&p, links)
	if delta, known := r.delta(links); known {
		p.family("mlget_link_delta_seconds", "gauge", "Time between the last payload bytes of the first and of the last link to finish (Link Δ), of the run that has ended.")
		p.float(delta)
	}
	if s, known := r.total(); known {
		p.family("mlget_download_size_bytes", "gauge", "Size of the files together, as far as it is known.")
		p.int(s.size)
		p.family("mlget_download_remaining_bytes", "gauge", "Bytes of these that are not there yet.")
		p.int(max(s.size-s.done, 0))
	}
	r.powers(&p)
	p.family("mlget_build_info", "gauge", "Version of mlget and of the Go that built it; the value is 1.")
	p.int(1, "version", r.version, "goversion", r.goVersion)
	return p.text
}

// seen is a link with what only the files in progress can tell of it.
type seen struct {
	*link
	bytes int64   // received, waste included
	rate  float64 // bytes per second
}

// distinct gives the links by name.
func (r *Run) distinct() (links []seen) {
	index := map[*link]int{}
	for i, l := range r.links {
		at, ok := index[l]
		if !ok {
			at = len(links)
			index[l] = at
			links = append(links, seen{link: l, bytes: l.received})
		}
		for _, f := range r.files {
			bytes, rate := f.lately(i)
			links[at].bytes += bytes
			if !r.over {
				links[at].rate += rate
			}
		}
	}
	slices.SortFunc(links, func(a, b seen) int { return strings.Compare(a.name, b.name) })
	return links
}

// lately is what link i has received for the file in requests that have not
// ended yet, and how fast it receives, by the last sample.
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

func (r *Run) perLink(p *page, links []seen) {
	if len(links) == 0 {
		return
	}
	p.family("mlget_received_bytes_total", "counter", "Payload bytes received over the link, those included that were thrown away.")
	for _, l := range links {
		p.int(l.bytes, "link", l.name)
	}
	p.family("mlget_wasted_bytes_total", "counter", "Of the payload bytes received over the link, those that were thrown away; known when a request ends.")
	for _, l := range links {
		p.int(l.wasted, "link", l.name)
	}
	p.family("mlget_requests_total", "counter", "Requests over the link that have ended, by how they ended.")
	for _, l := range links {
		for _, o := range outcomes() {
			p.int(l.outcomes[o], "link", l.name, "outcome", string(o))
		}
	}
	p.family("mlget_request_duration_seconds", "histogram", "Time from sending a request over the link to its end.")
	for _, l := range links {
		l.durations.write(p, "mlget_request_duration_seconds", l.name)
	}
	p.family("mlget_link_up", "gauge", "1 if the link takes part, 0 if it is banned, lost, or has spent its allowance.")
	for _, l := range links {
		up := int64(1)
		if l.down {
			up = 0
		}
		p.int(up, "link", l.name)
	}
	p.family("mlget_link_throughput_bytes_per_second", "gauge", "What the link receives now.")
	for _, l := range links {
		p.float(l.rate, "link", l.name)
	}
	p.family("mlget_link_bandwidth_bytes_per_second", "gauge", "What the link can carry, by the scheduler's last estimate.")
	for _, l := range links {
		if l.bandwidth > 0 {
			p.float(l.bandwidth, "link", l.name)
		}
	}
	p.family("mlget_link_rtt_seconds", "gauge", "Least round-trip time seen on the link.")
	for _, l := range links {
		if l.rtt > 0 {
			p.float(l.rtt.Seconds(), "link", l.name)
		}
	}
}

// outcomes are all the ways in which a request can end.
func outcomes() []event.Outcome {
	return []event.Outcome{
		event.OutcomeCancelled, event.OutcomeDone, event.OutcomeNetwork, event.OutcomeProtocol,
		event.OutcomeStatus, event.OutcomeStorage, event.OutcomeTLS,
	}
}

// delta is the thesis's Link Δ in seconds, as in the report; it is not known
// while the run is on.
func (r *Run) delta(links []seen) (seconds float64, known bool) {
	first, last := scheduler.Time(math.MaxInt64), scheduler.Time(0)
	for _, l := range links {
		if l.kept {
			first, last = min(first, l.last), max(last, l.last)
		}
	}
	if !r.over || first > last {
		return 0, false
	}
	return math.Round((last-first).Seconds()*1e6) / 1e6, true
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

func (r *Run) powers(p *page) {
	sources := slices.Sorted(maps.Keys(r.power))
	p.family("mlget_power_watts", "gauge", "Power that the device draws, by the source's last reading.")
	for _, name := range sources {
		if s := r.power[name]; s.has {
			p.float(s.watts, "source", name)
		}
	}
	p.family("mlget_energy_joules_total", "counter", "Energy that the device has drawn since the source's first reading, base power included.")
	for _, name := range sources {
		p.float(r.power[name].joules, "source", name)
	}
}

// page is text under way.
type page struct {
	text  []byte
	begin string // HELP and TYPE, for when there is a sample
	name  string
}

// family begins a metric; nothing is written before its first sample.
func (p *page) family(name, kind, help string) {
	p.name = name
	p.begin = "# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n"
}

// int writes a sample of the metric; labels are names and values in turn.
func (p *page) int(v int64, labels ...string) {
	p.labelled(p.name, labels)
	p.text = append(strconv.AppendInt(p.text, v, 10), '\n')
}

func (p *page) float(v float64, labels ...string) {
	p.labelled(p.name, labels)
	p.text = append(strconv.AppendFloat(p.text, v, 'g', -1, 64), '\n')
}

func (p *page) labelled(name string, labels []string) {
	p.text = append(p.text, p.begin...)
	p.begin = ""
	p.text = append(p.text, name...)
	for i := 0; i+1 < len(labels); i += 2 {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		p.text = append(p.text, separator)
		p.text = append(p.text, labels[i]...)
		p.text = append(p.text, '=', '"')
		for _, c := range []byte(labels[i+1]) {
			switch c {
			case '\\', '"':
				p.text = append(p.text, '\\', c)
			case '\n':
				p.text = append(p.text, '\\', 'n')
			default:
				p.text = append(p.text, c)
			}
		}
		p.text = append(p.text, '"')
	}
	if len(labels) > 0 {
		p.text = append(p.text, '}')
	}
	p.text = append(p.text, ' ')
}
