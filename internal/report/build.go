package report

import (
	"fmt"
	"math"

	"github.com/mlget/mlget/internal/event"
)

// notEnded is the error in the report of a run whose last event never came: it
// was killed, and this is made from its record.
const notEnded = "the run did not end: its last event is missing"

// Report gives the report of what was added so far.
func (b *Builder) Report() Report {
	r := Report{
		Schema:    Schema,
		Version:   b.run.Version,
		Algorithm: b.run.Algorithm, EnergyPolicy: b.run.Energy,
		Started:   b.run.Started,
		SizeBytes: -1,
		Seconds:   round(b.began.seconds()),
		Links:     make([]Link, 0, len(b.links)),
	}
	r.FilesTotal = max(b.run.Files, len(b.files))
	var bytes int64
	several := len(b.files) > 1 || b.run.Files != 1
	if several {
		r.Files = make([]File, 0, len(b.files))
	}
	for i, f := range b.files {
		file := f.report()
		if i == 0 {
			r.URL, r.EffectiveURL, r.Output, r.HTTP = file.URL, file.EffectiveURL, file.Output, file.HTTP
		}
		if file.SizeBytes >= 0 {
			r.SizeBytes = max(r.SizeBytes, 0) + file.SizeBytes
		}
		bytes += file.Bytes
		r.WastedBytes += file.WastedBytes
		r.ResumedBytes += file.ResumedBytes
		r.Requests += file.Requests
		r.Retries += file.Retries
		if several {
			r.Files = append(r.Files, file)
		}
		if f.isEnded && f.exitCode == 0 {
			r.FilesDone++
		}
	}
	r.Tuning = b.reportTuning()
	r.ThroughputMbps = mbps(float64(bytes), b.began.seconds())
	b.reportEnergy(&r, bytes)
	for i := range b.links {
		r.Links = append(r.Links, b.linkReport(i))
	}
	r.LinkDeltaSeconds = b.linkDelta()
	if b.end == nil {
		r.ExitCode, r.Error = 1, notEnded
		return r
	}
	r.ExitCode, r.Error = b.end.ExitCode, b.end.Error
	r.CPUSeconds = round(b.end.CPU.Seconds())
	r.MaxRSSBytes = b.end.MaxRSS
	if r.VoluntarySwitches = b.end.Switches; b.end.At > 0 {
		r.WakeupsPerSecond = round(float64(b.end.Switches) / b.end.At.Seconds())
	}
	if p := b.end.Policy; p != nil {
		r.Policy = &Policy{Questions: p.Questions, LateAnswers: p.LateAnswers, Fallbacks: p.Fallbacks, Error: p.Error}
	}
	return r
}

// linkDelta is the thesis's Link Δ, in seconds.
func (b *Builder) linkDelta() float64 {
	var finished span
	for i := range b.links {
		if l := &b.links[i]; l.bytes > 0 && l.hasTo {
			finished.start(l.to)
			finished.stop(l.to)
		}
	}
	return round(finished.seconds())
}

func (b *Builder) linkReport(i int) Link {
	l := &b.links[i]
	busy := l.span
	if l.sent.hasFrom {
		busy.from = l.sent.from
	}
	r := Link{
		Name:           fmt.Sprintf("link %d", i),
		State:          string(l.finalState()),
		Reason:         l.reason,
		Bytes:          l.bytes,
		Seconds:        round(busy.seconds()),
		ThroughputMbps: mbps(float64(l.bytes), busy.seconds()),
		BandwidthMbps:  mbps(l.bandwidth, 1),
		Requests:       l.requests,
		Retries:        l.retries,
		Connections:    l.connections,
		LocalAddr:      l.local,
		RemoteAddr:     l.remote,
	}
	if i < len(b.run.Links) {
		r.Name, r.Bind = b.run.Links[i].Name, b.run.Links[i].Bind
	}
	if l.hasTo {
		r.FinishedSeconds = round((&span{from: b.began.from, to: l.to, hasFrom: true, hasTo: true}).seconds())
	}
	peak := l.arrivals.bytesPerSecond(b.carried(i))
	if peak == 0 { // this system does not tell when bytes came
		peak = l.peak
	}
	r.PeakMbps = max(mbps(peak, 1), r.ThroughputMbps)
	rtt := l.rtt
	if b.end != nil && i < len(b.end.Links) {
		// The transport's own count is better than what was seen to happen.
		t := b.end.Links[i]
		r.Connections, r.Reads = t.Connections, t.Reads
		if t.LocalAddr != "" {
			r.LocalAddr, r.RemoteAddr = t.LocalAddr, t.RemoteAddr
		}
		if t.RTT > 0 {
			rtt = t.RTT
		}
	}
	r.RTTMs = round(rtt.Seconds() * 1e3)
	return r
}

// carried is how many bytes of payload have come over a link, waste included, and in how
// many segments.
func (b *Builder) carried(i int) (bytes, segments int64) {
	l := &b.links[i]
	for _, s := range b.active { // of requests that have not ended
		if i < len(s.links) {
			bytes += s.links[i].Bytes
			segments = s.links[i].TCP.DataIn
		}
	}
	if b.end != nil && i < len(b.end.Links) {
		segments = b.end.Links[i].TCP.DataIn
	}
	return max(bytes, l.bytes+l.wasted), segments
}

// finalState is the link's last state, where "used" means that it carried bytes.
func (l *linkTally) finalState() event.LinkState {
	switch l.state {
	case event.LinkBanned, event.LinkLost, event.LinkCapped:
		return l.state
	case event.LinkUsed, event.LinkUnused:
	}
	if l.bytes+l.wasted > 0 {
		return event.LinkUsed
	}
	return event.LinkUnused
}

func (f *fileTally) report() File {
	return File{
		URL:            f.url,
		EffectiveURL:   f.effectiveURL,
		Output:         f.output,
		HTTP:           f.http,
		SizeBytes:      f.size,
		Bytes:          f.bytes,
		Seconds:        round(f.seconds()),
		ThroughputMbps: mbps(float64(f.bytes), f.seconds()),
		WastedBytes:    f.wasted,
		ResumedBytes:   f.resumed,
		Requests:       f.requests,
		Retries:        f.retries,
		ExitCode:       int(f.exitCode),
		Error:          f.err,
	}
}

// mbps is bytes in seconds as 10^6 bit/s; 0 in no time.
func mbps(bytes, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return round(bytes * 8 / 1e6 / seconds)
}

// round cuts x to six decimals, so that the report shows no noise of binary
// fractions; what JSON cannot hold is 0.
func round(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	if math.Abs(x) > 1e9 {
		return math.Round(x)
	}
	return math.Round(x*1e6)/1e6 + 0 // of -0 this makes 0
}
