package adversary

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	filesHost  = "files.test"
	mirrorHost = "mirror.test" // the same edges
	portalHost = "portal.test"
)

// URL is where a file is.
func URL(file int) string { return fmt.Sprintf("http://%s/%s", filesHost, Name(file)) }

// Name is the name of a file.
func Name(file int) string { return fmt.Sprintf("f%d.bin", file) }

// request is what a client asks for.
type request struct {
	host, path string
	ranged     bool
	off, end   int64 // [off, end) of a range; end < 0: to the end
}

// ending is what comes after the body.
type ending uint8

const (
	endWell   ending = iota
	endClose         // the connection is closed; the rest of the body does not come
	endReset         // the connection is reset
	endStall         // nothing comes any more
	endCancel        // HTTP/2: the stream is reset; HTTP/1.1: as endClose
)

// answer is what an edge answers, whatever the protocol.
type answer struct {
	told   *Told
	delay  time.Duration
	before ending // in place of an answer; endWell: there is one
	status int
	header []string // name, value, name, value...
	// length is what Content-Length says; -1: there is none. framing is of use without one.
	length  int64
	framing Framing
	body    int64 // bytes to send
	after   ending
	last    bool // of the connection
}

func (a *answer) set(name, value string) { a.header = append(a.header, name, value) }

// parseRange understands what mlget sends: one range.
func parseRange(v string) (off, end int64, ok bool) {
	first, last, ok := strings.Cut(strings.TrimPrefix(v, "bytes="), "-")
	if !ok || !strings.HasPrefix(v, "bytes=") {
		return 0, 0, false
	}
	off, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	if last == "" {
		return off, -1, true
	}
	end, err = strconv.ParseInt(last, 10, 64)
	return off, end + 1, err == nil && end >= off
}

// answer is what an edge says to a request over a link; edge -1 is the portal. The
// request is in progress until done.
func (n *Network) answer(r request, w *Wire, edge int) *answer {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count()
	n.busy[place{link: w.id, edge: edge}]++
	a := &answer{status: http.StatusOK, length: -1}
	t := &Told{At: time.Since(n.began), Run: n.run, Link: w.id, Edge: edge, File: -1, Version: noVersion, Size: -1}
	if r.ranged {
		t.Request = fmt.Sprintf("%d-%d", r.off, r.end)
	}
	a.told = t
	n.log = append(n.log, t)
	file := 0
	switch _, err := fmt.Sscanf(r.path, "/f%d.bin", &file); {
	case edge < 0 && (r.host == portalHost || w.spec.Portal != PortalMove):
		if err != nil { // what was asked for at first is not known
			file = -1
		}
		a.portal(file, PortalPage)
		return a
	case edge < 0:
		a.portal(file, PortalMove)
		return a
	case err != nil || file >= len(n.world.Files):
		a.error(http.StatusNotFound)
		return a
	}
	e := &n.world.Edges[edge]
	t.File = file
	at := place{n.run, w.id, edge, file}
	t.N = n.asked[at]
	if e.KeepAlive > 0 && n.kept(w, edge)%e.KeepAlive == 0 {
		a.last = true
	}
	if e.Redirects && r.host != mirrorHost {
		t.Kind = "redirect"
		a.error(http.StatusFound)
		a.set("Location", "http://"+mirrorHost+r.path)
		return a
	}
	n.asked[at]++
	if e.Conns > 0 && n.busy[place{link: w.id, edge: edge}] > e.Conns {
		a.error(e.Refusal)
		return a
	}
	version := n.version(e, t.N) % len(n.world.Files[file].Versions)
	v := &n.world.Files[file].Versions[version]
	t.Version, t.Size, t.Shown = version, v.Size, e.Shows[t.N%len(e.Shows)]
	a.framing = e.Framing
	var fault *Fault
	for i := range e.Faults {
		f := &e.Faults[i]
		if (f.File < 0 || f.File == file) && t.N >= f.First && (f.Count == 0 || t.N < f.First+f.Count) {
			fault = f
			break
		}
	}
	a.honest(r, e, v)
	a.validators(e, v)
	if fault != nil {
		a.spoil(r, fault, v)
	}
	t.Unsized = a.status < 300 && a.status != http.StatusPartialContent && a.length < 0
	return a
}

// done says that an answer has been sent, or has failed.
func (n *Network) done(w *Wire, edge int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.busy[place{link: w.id, edge: edge}]--
}

// kept counts the requests of an edge over a link.
func (n *Network) kept(w *Wire, edge int) int {
	at := place{-1, w.id, edge, -1}
	n.asked[at]++
	return n.asked[at]
}

// version is the one that an edge has for its i-th answer.
func (n *Network) version(e *Edge, i int) (version int) {
	if len(e.Turns) > 0 {
		return e.Turns[i%len(e.Turns)]
	}
	for _, c := range e.Changes {
		if n.run > c.Run || n.run == c.Run && time.Since(n.began) >= c.At {
			version = c.Version
		}
	}
	return version
}

// honest is the answer of an edge with no other intention.
func (a *answer) honest(r request, e *Edge, v *Version) {
	habit := e.Ranges
	if habit == RangesEnd {
		habit = RangesYes
		if a.told.N >= e.After {
			habit = RangesNever
		}
	}
	if !r.ranged || habit == RangesNever || v.Size == 0 && e.EmptyOK {
		a.whole(e, v)
		return
	}
	end := v.Size
	if r.end >= 0 {
		end = min(end, r.end)
	}
	switch habit { //nolint:exhaustive // the others get a part
	case RangesBad:
		a.error(http.StatusBadRequest)
		return
	case RangesDenied:
		a.error(http.StatusForbidden)
		return
	case RangesError:
		a.error(http.StatusInternalServerError)
		return
	case RangesMissing:
		a.error(http.StatusNotImplemented)
		return
	case RangesDropped:
		a.told.Kind, a.before = "dropped for its range", endClose
		return
	case RangesCapped:
		if a.told.N >= e.After {
			end = min(end, r.off+e.Most)
		}
	}
	if r.off >= v.Size {
		a.told.Kind = "416"
		a.error(http.StatusRequestedRangeNotSatisfiable)
		a.set("Content-Range", fmt.Sprintf("bytes */%d", v.Size))
		return
	}
	a.part(r.off, end, v.Size)
	switch habit { //nolint:exhaustive // the others' is as it should be
	case RangesMultiple:
		a.told.Kind = "multipart"
		a.header = []string{"Content-Type", "multipart/byteranges; boundary=xyz"}
	case RangesUnnamed:
		a.told.Kind = "206 without Content-Range"
		a.header = nil
	case RangesWrong:
		a.told.Kind = "206 with a wrong Content-Range"
		a.header = []string{"Content-Range", fmt.Sprintf("bytes %d-%d/%d", r.off+1, end, v.Size)}
	case RangesTotal:
		a.told.Kind, a.told.Size = "206 of */*", -1
		a.header = []string{"Content-Range", fmt.Sprintf("bytes %d-%d/*", r.off, end-1)}
	}
}

// whole is 200 with everything.
func (a *answer) whole(e *Edge, v *Version) {
	a.told.Kind, a.told.Off = "200", 0
	if e.Success != 0 && v.Size > 0 { // "200 to 206 and 226 with a body are a file": others need be none
		a.status = e.Success
		a.told.Kind = strconv.Itoa(e.Success)
	}
	a.body = v.Size
	a.frame(v.Size)
}

// part is 206.
func (a *answer) part(off, end, total int64) {
	a.told.Kind, a.told.Off = fmt.Sprintf("206 %d-%d/%d", off, end, total), off
	a.status = http.StatusPartialContent
	a.header = []string{"Content-Range", fmt.Sprintf("bytes %d-%d/%d", off, end-1, total)}
	a.body = end - off
	a.frame(a.body)
}

// frame tells the length, if the edge does.
func (a *answer) frame(n int64) {
	a.length = -1
	if a.framing == ByLength {
		a.length = n
	}
}

// error is an answer without a body of the object.
func (a *answer) error(status int) {
	if a.told.Kind == "" {
		a.told.Kind = strconv.Itoa(status)
	}
	a.status, a.length, a.body = status, 0, 0
}

func (a *answer) validators(e *Edge, v *Version) {
	if a.status >= 300 && a.status != http.StatusRequestedRangeNotSatisfiable {
		a.told.Shown = 0
		return
	}
	tag := v.Tag + e.TagSuffix
	if e.Ranges == RangesTags && a.status == http.StatusPartialContent {
		tag += fmt.Sprint("-", a.told.Run, "-", a.told.N, "-", a.told.Link)
		a.told.Shown |= ShowTag
	}
	switch shown := a.told.Shown; {
	case shown&ShowTag != 0:
		a.told.Shown &^= ShowWeak
		a.told.Tag = `"` + tag + `"`
		a.set("ETag", a.told.Tag)
	case shown&ShowWeak != 0:
		a.told.Tag = `W/"` + tag + `"`
		a.set("ETag", a.told.Tag)
	}
	if a.told.Shown&ShowDate != 0 {
		a.set("Last-Modified", v.Modified.Format(http.TimeFormat))
	}
}

// portal is an answer of a portal: its page, or the way there.
func (a *answer) portal(file int, kind FaultKind) {
	t := a.told
	t.File, t.Lie, t.Shown, t.Tag, t.Off = file, true, 0, "", 0
	a.header = nil
	if kind == PortalMove {
		t.Kind, t.Version, t.Size = "302 to the portal", portalPage, int64(len(page))
		a.status, a.length, a.body = http.StatusFound, 0, 0
		a.set("Location", "http://"+portalHost+"/")
		return
	}
	t.Kind, t.Version, t.Size = "portal's page", portalPage, int64(len(page))
	a.status, a.framing = http.StatusOK, ByLength
	a.body = t.Size
	a.frame(a.body)
	a.set("Content-Type", "text/html; charset=utf-8")
}

// lie makes the answer one that tells of another object, or size.
func (a *answer) lie(kind string, size int64) {
	a.told.Kind, a.told.Lie, a.told.Size = kind, true, size
}

// noRange takes Content-Range away.
func (a *answer) noRange() {
	for i := 0; i < len(a.header); i += 2 {
		if a.header[i] == "Content-Range" {
			a.header = append(a.header[:i], a.header[i+2:]...)
			return
		}
	}
}

// spoil makes an honest answer a fault.
func (a *answer) spoil(r request, f *Fault, v *Version) {
	t := a.told
	cut := func(how ending, kind string) {
		if f.N < a.body {
			t.Kind += fmt.Sprintf(", %s after %d", kind, f.N)
			a.body, a.after = f.N, how
		}
	}
	switch f.Kind {
	case Delay:
		t.Kind += fmt.Sprint(", after ", f.Wait)
		a.delay = f.Wait
	case Silence:
		t.Kind, a.before = "no answer", endStall
	case ResetFirst:
		t.Kind, a.before = "reset", endReset
	case CloseFirst:
		t.Kind, a.before = "closed", endClose
	case ResetBody:
		cut(endReset, "reset")
	case CutBody:
		if a.length < 0 && a.framing == UntilClose && a.status < 300 {
			cut(endWell, "ends")
			if a.status != http.StatusPartialContent && a.body < v.Size {
				a.lie(t.Kind, a.body)
			}
			return
		}
		cut(endCancel, "cut")
	case StallBody:
		cut(endStall, "stalls")
	case Status:
		t.Kind, t.Shown, t.Tag, a.header = "", 0, "", nil
		a.error(int(f.N))
		if f.Wait > 0 {
			a.set("Retry-After", strconv.Itoa(int(f.Wait/time.Second)))
		}
	case Late200:
		a.noRange()
		a.whole(&Edge{}, v)
		a.status = http.StatusOK
	case Shifted:
		if a.status == http.StatusPartialContent && r.off+8192 < v.Size {
			end := min(r.off+8192+a.body, v.Size)
			a.noRange()
			header := a.header
			a.part(r.off+8192, end, v.Size)
			a.header = append(a.header, header...)
		}
	case LongBody:
		if a.length > 0 {
			t.Kind += ", and more than its length"
			a.body, a.last = a.length+f.N, true
		}
	case ShortLength:
		if a.status == http.StatusPartialContent && a.length > f.N {
			t.Kind += fmt.Sprintf(", length %d too small", f.N)
			a.length -= f.N
			a.body, a.last = a.length, true
		}
	case Unsized416:
		a.error(http.StatusRequestedRangeNotSatisfiable)
		t.Kind, a.header = "416 without a size", nil
	case Empty416, Wrong416:
		size := f.N
		if f.Kind == Empty416 {
			size = 0
		}
		a.noRange()
		a.error(http.StatusRequestedRangeNotSatisfiable)
		a.lie(fmt.Sprintf("416 */%d", size), size)
		a.set("Content-Range", fmt.Sprintf("bytes */%d", size))
	case Empty200:
		a.noRange()
		a.status, a.body = http.StatusOK, 0
		a.frame(0)
		a.lie("200 of nothing", 0)
	case NoContent:
		a.noRange()
		a.status, a.body, a.length = http.StatusNoContent, 0, 0
		a.lie("204", 0)
	case Small206:
		n := min(f.N, v.Size)
		if n == 0 || n == v.Size {
			return
		}
		a.noRange()
		header := a.header
		a.part(0, n, n)
		a.header = append(a.header, header...)
		a.lie(t.Kind, n)
	case WrongTotal:
		size := v.Size + f.N
		switch {
		case a.status == http.StatusPartialContent && size >= t.Off+a.body:
			a.noRange()
			header, n := a.header, a.body
			a.part(t.Off, t.Off+n, size)
			a.header = append(a.header, header...)
			a.lie(t.Kind, size)
		case a.status == http.StatusRequestedRangeNotSatisfiable && size >= 0:
			a.noRange()
			a.set("Content-Range", fmt.Sprintf("bytes */%d", size))
			a.lie(fmt.Sprintf("416 */%d", size), size)
		case a.status == http.StatusOK && size >= 0:
			a.length, a.body = size, min(size, v.Size)
			if size > v.Size {
				a.after = endClose
			}
			a.lie(fmt.Sprintf("200 of %d", size), size)
		}
	case ShortEnd:
		if a.status != http.StatusPartialContent && a.status < 300 && f.N < a.body {
			a.body, a.length, a.framing, a.last = f.N, -1, UntilClose, true
			a.lie("200 without a length that ends", f.N)
		}
	case PortalPage, PortalMove:
		a.portal(t.File, f.Kind)
	}
}
