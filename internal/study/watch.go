package study

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/record"
	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/pkg/scheduler"
)

// maxLinks bounds the links that are believed: records come from outside.
const maxLinks = 256

// watcher makes a Run of a run's events.
type watcher struct {
	builder report.Builder
	begun   bool    // something was asked for
	zero    float64 // s: when
	links   []linkWatch
	files   map[event.FileID]*fileWatch
	cpu     points // cumulative s, in Y
	system  points // likewise, of all processes
	rss     points
	watts   points
	counter energy.Reading // the last of a counter of energy
	counted bool
}

type linkWatch struct {
	info  event.LinkInfo
	meter meter
	// segments are those with data, when the kernel counted them: bytes that waited for a
	// lost packet are booked in meter as a burst, which the link never carried.
	segments meter
	counted  float64 // s: up to when
	count    int64   // by then
}

// leastMark is how far apart the counts of two samples are at least, in s: those of samples
// that follow one another at once may be the same count.
const leastMark = 0.08

// arrived books the segments that a link has counted by now.
func (l *linkWatch) arrived(now float64, count int64) {
	if fresh := count - l.count; fresh >= 0 && now-l.counted >= leastMark {
		l.segments.add(l.counted, now, float64(fresh))
		l.count, l.counted = count, now
	}
}

// mbps is the link's rate in each step, in 10^6 bit/s, and how long a step is, in s: what
// has come, at the moments at which its segments came where those were counted.
func (l *linkWatch) mbps() (rates []float64, step float64) {
	if total := l.segments.total(); total > 0 {
		l.segments.scale(l.meter.total() / total)
		return l.segments.mbps(), l.segments.step
	}
	return l.meter.mbps(), l.meter.step
}

// fileWatch is where a file stands that has not ended, or all of those that have no
// samples of their own: what each link has brought of it.
type fileWatch struct {
	sampled bool
	at      []float64 // s: when something was booked last, by link
	bytes   []int64   // booked so far, by link
	ended   []int64   // of requests that have ended, by link
}

// readRecord reads a record to its end, or as far as it goes.
func readRecord(in io.Reader, models energy.Models) (*Run, error) {
	rd, err := record.NewReader(in)
	if err != nil {
		return nil, err
	}
	rd.Pass(event.Step{}, event.SchedulerStarted{}, event.Notice{})
	w := watcher{builder: report.Builder{Models: models}, files: make(map[event.FileID]*fileWatch)}
	run := &Run{}
	for {
		e, err := rd.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			run.Broken = err.Error() + "; what comes before it is used"
			break
		}
		w.add(e)
	}
	if rd.Truncated() {
		run.Broken = "the record is cut off; what there is is used"
	}
	w.finish(run)
	return run, nil
}

func (w *watcher) add(e event.Event) {
	w.builder.Add(e)
	switch e := e.(type) {
	case event.RunStarted:
		for i, info := range e.Links {
			if l := w.link(i); l != nil {
				l.info = info
			}
		}
	case event.LinkJoined:
		if l := w.link(int(e.Link)); l != nil {
			l.info = e.Info
		}
	case event.FileStarted:
		w.begin(e.At)
	case event.RequestStarted:
		w.begin(e.At)
	case event.RequestEnded:
		w.ended(e)
	case event.Sample:
		w.sample(e)
	case event.FileEnded:
		if e.File != event.Batch {
			delete(w.files, e.File)
		}
	case event.RunEnded:
		for i, t := range e.Links[:min(len(e.Links), maxLinks)] {
			if l := w.link(i); l.count > 0 && t.TCP.DataIn > l.count {
				l.segments.add(l.counted, max(l.counted, l.meter.end), float64(t.TCP.DataIn-l.count))
			}
		}
	case event.Usage:
		w.cpu.add(e.At.Seconds(), e.CPU.Seconds())
		if e.SystemCPU > 0 {
			w.system.add(e.At.Seconds(), e.SystemCPU.Seconds())
		}
		if e.RSS > 0 {
			w.rss.add(e.At.Seconds(), float64(e.RSS))
		}
	case event.Power:
		w.power(e)
	}
}

func (w *watcher) begin(at scheduler.Time) {
	if s := at.Seconds(); !w.begun || s < w.zero {
		w.zero, w.begun = s, true
	}
}

// link is the link of that id, or nil where there can be none.
func (w *watcher) link(id int) *linkWatch {
	if id < 0 || id >= maxLinks {
		return nil
	}
	for id >= len(w.links) {
		w.links = append(w.links, linkWatch{info: event.LinkInfo{Name: fmt.Sprintf("link %d", len(w.links))}})
	}
	return &w.links[id]
}

func (w *watcher) file(id event.FileID, links int) *fileWatch {
	f := w.files[id]
	if f == nil {
		f = &fileWatch{}
		w.files[id] = f
	}
	for len(f.bytes) < links {
		f.at = append(f.at, 0)
		f.bytes = append(f.bytes, 0)
		f.ended = append(f.ended, 0)
	}
	return f
}

// sample books what came since the sample before.
func (w *watcher) sample(e event.Sample) {
	links := min(len(e.Links), maxLinks)
	f, now := w.file(e.File, links), e.At.Seconds()
	if !f.sampled && e.File != event.Batch {
		w.leave(f)
	}
	f.sampled = true
	for i, s := range e.Links[:links] {
		w.book(f, i, s.Bytes, w.zero, now)
		w.link(i).arrived(now-w.zero, s.TCP.DataIn)
		f.at[i] = max(f.at[i], now)
	}
}

// leave takes a file out of those that have no samples of their own.
func (w *watcher) leave(f *fileWatch) {
	all := w.file(event.Batch, len(f.bytes))
	for i, bytes := range f.ended {
		f.bytes[i] = bytes
		all.ended[i] -= bytes
		all.bytes[i] -= bytes
	}
}

// ended books what a request brought that no sample told of. Of files that have no
// samples of their own it is told by those of the batch, if there is one.
func (w *watcher) ended(e event.RequestEnded) {
	i := int(e.Link)
	if w.link(i) == nil || e.File == event.Batch {
		return
	}
	f := w.file(e.File, i+1)
	f.ended[i] += max(e.Bytes, 0)
	if !f.sampled {
		all := w.file(event.Batch, i+1)
		all.ended[i] += max(e.Bytes, 0)
		f = all
	}
	w.book(f, i, f.ended[i], e.FirstByte.Seconds(), e.LastByte.Seconds())
}

// book books what has come over a link by now of which nothing was known before: since
// what was booked last, or since from.
func (w *watcher) book(f *fileWatch, i int, bytes int64, from, now float64) {
	if bytes <= f.bytes[i] {
		return
	}
	w.link(i).meter.add(max(f.at[i], from)-w.zero, now-w.zero, float64(bytes-f.bytes[i]))
	f.bytes[i], f.at[i] = bytes, max(f.at[i], now)
}

// power keeps a gauge's watts, and of a counter's those between two readings, in
// the middle of them.
func (w *watcher) power(e event.Power) {
	if e.External {
		return
	}
	if !e.Counter {
		w.watts.add(e.At.Seconds(), e.Watts)
		return
	}
	now := energy.Reading{At: int64(e.At), Joules: e.Joules}
	if w.counted {
		for _, s := range energy.Powers([]energy.Reading{w.counter, now}) {
			w.watts.add(scheduler.Time(s.At).Seconds(), s.Watts)
		}
	}
	w.counter, w.counted = now, true
}

func (w *watcher) finish(run *Run) {
	run.Report = w.builder.Report()
	run.Report.Files = nil // rows of thousands of files are not needed here
	for i := range w.links {
		l := &w.links[i]
		rates, step := l.mbps()
		run.Traces = append(run.Traces, Trace{Link: l.info.Name, Tech: l.info.Tech, Step: step, Mbps: rates})
	}
	cpu := w.cpu.shifted(w.zero)
	run.CPU = rates(cpu, run.Report.Seconds)
	run.System = rates(w.system.shifted(w.zero), run.Report.Seconds)
	run.CPUSeconds = advance(cpu, run.Report.Seconds)
	run.RSS = w.rss.shifted(w.zero)
	run.Watts = w.watts.shifted(w.zero)
}

// rates turns cumulative seconds of processors into percent of one, between each two
// readings, at the middle of them. Those that reach beyond the download, which lasts to
// end, have something else in them: they count only where there are no others.
func rates(cumulative []Point, end float64) (percent []Point) {
	const slack = 0.05 // s; the last reading may come right behind another
	var beyond []Point
	for i := 1; i < len(cumulative); i++ {
		a, b := cumulative[i-1], cumulative[i]
		if b.X-a.X < slack || b.Y < a.Y {
			continue
		}
		p := Point{X: (a.X + b.X) / 2, Y: 100 * (b.Y - a.Y) / (b.X - a.X)}
		if a.X < -slack || b.X > end+slack {
			beyond = append(beyond, p)
			continue
		}
		percent = append(percent, p)
	}
	if len(percent) == 0 {
		return beyond
	}
	return percent
}

// advance is how far a counter went from 0 to end, with straight lines between its
// readings; NaN where they do not reach so far.
func advance(cumulative []Point, end float64) float64 {
	at := func(x float64) float64 {
		for i := 1; i < len(cumulative); i++ {
			a, b := cumulative[i-1], cumulative[i]
			if a.X <= x && x <= b.X && b.X > a.X {
				return a.Y + (b.Y-a.Y)*(x-a.X)/(b.X-a.X)
			}
		}
		return math.NaN()
	}
	return at(end) - at(0)
}
