package progress

import (
	"math"
	"slices"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// The times over which rates are averaged: behind the time left, long enough that it
// does not jump, short enough that it follows a link that comes or goes; as they are
// shown, so that they can be read. The whole's is the sum of the links', or people
// would wonder.
const (
	smoothing = 3 * scheduler.Second
	reading   = 1 * scheduler.Second
)

// maxFileRows is how many files are shown one by one; with more of them there is
// only the whole.
const maxFileRows = 4

// board is where a run stands. It keeps links and the files that are in progress,
// so that its size does not grow with the number of files.
type board struct {
	links  []link
	active []*file // started and not ended, oldest first
	batch  file    // all that have no samples of their own, ended ones included: a batch's are of all of them
	gone   int64   // of the batch's bytes, what is of files that have ended or have samples of their own
	files  int     // of the run; those that have started while open
	open   bool    // nobody knows yet how many files there are
	began  int     // files that have started
	ended  int     // files that have ended
	failed int     // of these, in vain

	past     int64 // bytes of the files that have ended, resumed ones included
	pastSize int64 // what these should have been
	sized    bool  // the size of one of them at least was known
	unsized  bool  // a file failed of which only a part is there, nobody knows how large a part
	missing  int   // files that failed before anything was known of them
	lost     int64 // bytes of failed files that will not come any more

	at    scheduler.Time // of the last event that had a time
	rate  float64        // bytes per second over all links, smoothed for the time left
	rated scheduler.Time // when rates were last brought up to date

	power *event.Power // the last reading; nil: none yet

	first, last scheduler.Time // first file's start, last byte
	over        bool           // the run has ended: rates are now means over it
}

type link struct {
	name  string
	state event.LinkState
	past  int64   // payload that counts, of files that have ended and had samples of their own
	rate  float64 // bytes per second, smoothed for who reads it
}

type file struct {
	id      event.FileID
	alone   bool  // it has samples of its own
	size    int64 // -1: unknown
	done    int64 // resumed bytes included
	resumed int64
	links   []event.LinkSample
	counts  []int64 // by link: payload that counts, of requests that have ended
	ended   []int64 // by link: all payload of these
	asked   []asked // requests that have not
	came    int64   // payload of a batch's file, as its latest sample has it
}

func (b *board) add(e event.Event) {
	switch e := e.(type) {
	case event.RunStarted:
		b.files, b.open = e.Files, e.Files == 0
		b.links = b.links[:0]
		for _, l := range e.Links {
			b.links = append(b.links, link{name: l.Name, state: event.LinkUnused})
		}
		b.batch = b.newFile(event.Batch)
	case event.LinkJoined:
		b.at = e.At
		b.join(e)
	case event.FileStarted:
		b.at = e.At
		if b.began == 0 {
			b.first = e.At
		}
		b.began++
		b.files = max(b.files, b.began)
		f := b.newFile(e.File)
		b.active = append(b.active, &f)
	case event.ObjectKnown:
		b.at = e.At
		if f := b.file(e.File); f != nil {
			f.size, f.done, f.resumed = e.Size, e.Resumed, e.Resumed
		}
	case event.LinkChanged:
		b.at = e.At
		if e.Link >= 0 && int(e.Link) < len(b.links) {
			b.links[e.Link].state = e.State
		}
	case event.RequestStarted:
		b.requestStarted(e)
	case event.RequestEnded:
		b.requestEnded(e)
	case event.BytesDiscarded:
		b.bytesDiscarded(e)
	case event.Power:
		b.at = e.At
		b.power = &e
	case event.Sample:
		b.sample(e)
	case event.FileEnded:
		b.fileEnded(e)
	case event.RunEnded:
		b.at, b.over, b.open = e.At, true, false
		b.rate = b.mean(b.received())
	}
}

// join takes in a link that came during the run.
func (b *board) join(e event.LinkJoined) {
	if int(e.Link) != len(b.links) {
		return
	}
	b.links = append(b.links, link{name: e.Info.Name, state: event.LinkUnused})
	for _, f := range append([]*file{&b.batch}, b.active...) {
		f.counts, f.ended = append(f.counts, 0), append(f.ended, 0)
	}
}

func (b *board) newFile(id event.FileID) file {
	return file{id: id, size: -1, counts: make([]int64, len(b.links)), ended: make([]int64, len(b.links))}
}

func (b *board) file(id event.FileID) *file {
	for _, f := range b.active {
		if f.id == id {
			return f
		}
	}
	return nil
}

func (b *board) requestEnded(e event.RequestEnded) {
	b.at = e.At
	if e.Bytes > e.Wasted {
		b.last = max(b.last, e.LastByte)
	}
	if e.Link < 0 || int(e.Link) >= len(b.links) {
		return
	}
	f := b.file(e.File)
	if f != nil {
		f.requestEnded(e)
		f.asked = slices.DeleteFunc(f.asked, func(a asked) bool { return a.chunk == e.Chunk })
	}
	if f == nil || !f.alone {
		b.batch.requestEnded(e)
	}
}

func (b *board) bytesDiscarded(e event.BytesDiscarded) {
	b.at = e.At
	f := b.file(e.File)
	if f != nil && e.Link >= 0 && int(e.Link) < len(f.counts) {
		f.counts[e.Link] -= e.Bytes
	}
	if (f == nil || !f.alone) && e.Link >= 0 && int(e.Link) < len(b.batch.counts) {
		b.batch.counts[e.Link] -= e.Bytes
	}
}

func (f *file) requestEnded(e event.RequestEnded) {
	if int(e.Link) < len(f.counts) {
		f.counts[e.Link] += e.Bytes - e.Wasted
		f.ended[e.Link] += e.Bytes
	}
}

func (b *board) sample(e event.Sample) {
	b.at = e.At
	f := b.file(e.File)
	if e.File == event.Batch {
		f = &b.batch
	}
	if f == nil {
		return
	}
	f.size, f.done, f.links = e.Size, e.Done, e.Links
	for _, s := range e.Files {
		if one := b.file(s.File); one != nil {
			one.came = max(one.came, s.Bytes) // a request that is moved is counted when it has ended
		}
	}
	if e.File != event.Batch {
		b.leave(f)
	}
	slow, fast := 1.0, 1.0
	if b.rated > 0 && e.At >= b.rated {
		passed := float64(e.At - b.rated)
		slow, fast = 1-math.Exp(-passed/float64(smoothing)), 1-math.Exp(-passed/float64(reading))
	}
	now := 0.0
	for i := range b.links {
		rate := b.linkRate(i)
		now += rate
		l := &b.links[i]
		if l.rate += fast * (rate - l.rate); rate == 0 && (l.state == event.LinkBanned || l.state == event.LinkLost) {
			l.rate = 0 // and not the echo of what it was
		}
	}
	b.rate += slow * (now - b.rate)
	b.rated = e.At
}

// leave takes a file out of those that have no samples of their own. Its first one
// counts the requests that have ended, or it had them as one of a batch.
func (b *board) leave(f *file) {
	if f.alone {
		return
	}
	f.alone = true
	for i, n := range f.counts {
		b.gone += n
		if i < len(f.links) && f.links[i].Bytes >= f.ended[i] {
			b.batch.counts[i] -= n
			b.batch.ended[i] -= f.ended[i]
		} else {
			f.counts[i], f.ended[i] = 0, 0
		}
	}
}

// shownRate is the rate of link i for who reads it, in bytes per second; when the run
// is over, the mean.
func (b *board) shownRate(i int) float64 {
	if b.over {
		return b.linkRate(i)
	}
	return b.links[i].rate
}

// shownTotal is that of all links.
func (b *board) shownTotal() (rate float64) {
	if b.over {
		return b.rate
	}
	for i := range b.links {
		rate += b.links[i].rate
	}
	return rate
}

func (b *board) fileEnded(e event.FileEnded) {
	b.at = e.At
	b.ended++
	if e.ExitCode != 0 {
		b.failed++
	}
	i := slices.IndexFunc(b.active, func(f *file) bool { return f.id == e.File })
	if i < 0 {
		return
	}
	f := b.active[i]
	b.active = slices.Delete(b.active, i, i+1)
	counted := f.resumed
	for l, n := range f.counts {
		counted += n
		if f.alone {
			b.links[l].past += n
		} else {
			b.gone += n
		}
	}
	if e.ExitCode == 0 {
		f.done = max(e.Size, f.done, counted)
		f.size = f.done
	} else {
		// The last sample may be older than the last bytes.
		f.done = max(f.done, counted)
	}
	b.past += f.done
	switch {
	case f.size >= 0:
		b.sized = true
		b.pastSize += f.size
		b.lost += max(f.size-f.done, 0)
	case f.done > 0:
		b.unsized = true
	default:
		b.missing++
	}
}

// linkBytes is the payload that counts which link i has carried. Samples may
// lag behind the requests that have ended, and these behind the samples.
func (b *board) linkBytes(i int) int64 {
	n := b.links[i].past + b.batch.counted(i)
	for _, f := range b.active {
		if f.alone {
			n += f.counted(i)
		}
	}
	return n
}

// counted is the payload that counts which link i has carried of the file.
func (f *file) counted(i int) (n int64) {
	if i < len(f.counts) {
		n = f.counts[i]
	}
	if i < len(f.links) {
		n = max(n, f.links[i].Bytes-f.links[i].Wasted)
	}
	return n
}

// here is how many bytes of a file are there, as far as one knows: of one that has no
// samples of its own, those that have come count, unless a request was in vain.
func (f *file) here() int64 {
	if f.alone {
		return f.done
	}
	counted := int64(0)
	for _, n := range f.counts {
		counted += n
	}
	n := max(f.done, f.resumed+max(counted, f.came))
	if f.size >= 0 {
		n = min(n, f.size)
	}
	return n
}

// linkRate is what link i carries now, in bytes per second; when the run is over,
// what it carried in the mean.
func (b *board) linkRate(i int) (rate float64) {
	if b.over {
		return b.mean(b.linkBytes(i))
	}
	for _, f := range b.active {
		if i < len(f.links) {
			rate += f.links[i].Rate
		}
	}
	if i < len(b.batch.links) {
		rate += b.batch.links[i].Rate
	}
	return rate
}

// mean is bytes over the run's time, in bytes per second.
func (b *board) mean(bytes int64) float64 {
	if b.last <= b.first {
		return 0
	}
	return float64(bytes) / (b.last - b.first).Seconds()
}

// linkState is link i's state; the first bytes may come before the word of it.
func (b *board) linkState(i int) event.LinkState {
	if s := b.links[i].state; s != event.LinkUnused || b.linkBytes(i) == 0 {
		return s
	}
	return event.LinkUsed
}

// received is the payload that counts over all links.
func (b *board) received() (n int64) {
	for i := range b.links {
		n += b.linkBytes(i)
	}
	return n
}

// done is how many bytes of the files are there.
func (b *board) done() int64 {
	n := b.past + max(b.batch.done-b.gone, 0)
	for _, f := range b.active {
		n += f.done
	}
	return n
}

// size is what all files have together; known is false while that cannot be told:
// a file has not begun, or its server does not say. Files that failed before anything
// was known of them do not count, unless there are no others.
func (b *board) size() (n int64, known bool) {
	if b.unsized || b.open {
		return 0, false
	}
	if b.batch.size > 0 && b.ended < b.files { // what is to come, by the mean of what has
		n = b.pastSize + max(b.batch.size-b.gone, 0)
		for _, f := range b.active {
			if f.alone {
				n += max(f.size, f.done)
			}
		}
		return max(n, b.done()), true
	}
	n = b.pastSize
	for _, f := range b.active {
		if f.size < 0 {
			return 0, false
		}
		n += f.size
	}
	return n, b.began > 0 && b.began >= b.files && (b.sized || len(b.active) > 0)
}

// fraction is the part of all bytes that is there, from 0 to 1; known is false
// while that cannot be told. As long as the run lasts it is of the bytes that will come:
// files that failed before anything was known of them do not count. At the end it cannot
// be told with such a file. With a file that failed it is never all, whatever is there of
// it.
func (b *board) fraction() (part float64, known bool) {
	size, known := b.size()
	if !known || b.over && b.missing > 0 {
		return 0, false
	}
	part = ratio(b.done(), size)
	if b.failed > 0 {
		part = min(part, mostOfFailed)
	}
	return part, true
}

// mostOfFailed is the largest part that is shown of what has failed.
const mostOfFailed = 0.99

// left is the time that the rest will take at the present rate; known is false
// while that cannot be told.
func (b *board) left() (d time.Duration, known bool) {
	size, known := b.size()
	rest := size - b.lost - b.done()
	switch {
	case !known:
		return 0, false
	case rest <= 0:
		return 0, true
	case b.over, b.rate < 1:
		return 0, false
	}
	seconds := float64(rest) / b.rate
	const longest = 99 * 24 * 3600 // beyond this, "never" is as good a guess
	if seconds > longest {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// ratio is a/b within 0 and 1; nothing of nothing is all.
func ratio(a, b int64) float64 {
	if b <= 0 {
		return 1
	}
	return min(max(float64(a)/float64(b), 0), 1)
}
