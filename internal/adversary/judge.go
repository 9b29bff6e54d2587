package adversary

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Outcome is what the user got of one file in one run.
type Outcome struct {
	Run, File   int
	Err         error
	Interrupted bool   // Err says that the run was interrupted
	Stormed     bool   // it was ended because it asked for too much
	OnDisk      bool   // Err says that the disk is at fault
	Data        []byte // of the file, or what a stream was given
	Exists      bool   // there is a file under the final name
	Took        time.Duration
}

// Class is what kind of violation a Finding is, the worst first.
type Class uint8

// The classes.
const (
	Mixed    Class = iota // bytes of two versions, or of nothing that was told
	Short                 // a part of a version
	Believed              // a lie that another link contradicted in time
	Leaked                // a stream that failed had got what is not the beginning of a version
	Left                  // a file under the final name in spite of an error
	Missing               // no file though there was an honest server
	Hung                  // a run without end
	Blamed                // an error that blames the disk
	Waited                // for itself: an idle connection was in the way of another one
)

// String names the class.
func (c Class) String() string {
	return [...]string{"mixed", "short", "believed", "leaked", "left", "missing", "hung", "blamed", "waited"}[c]
}

// Finding is a violation.
type Finding struct {
	Class     Class
	Run, File int
	Text      string
}

func (f Finding) String() string {
	return fmt.Sprintf("%s: run %d, f%d: %s", f.Class, f.Run, f.File, f.Text)
}

// Judge says what of the outcomes is not as it has to be, after what the servers told.
func Judge(w *World, log []*Told, outcomes []Outcome) []Finding {
	var all []Finding
	had := map[int]bool{} // files that an earlier run has brought
	for _, o := range outcomes {
		j := judge{w, log, o, had[o.File]}
		had[o.File] = had[o.File] || o.Err == nil
		if class, text := j.safe(); text != "" {
			all = append(all, Finding{class, o.Run, o.File, text})
		}
		if class, text := j.alive(); text != "" {
			all = append(all, Finding{class, o.Run, o.File, text})
		}
	}
	all = append(all, waited(w, log)...)
	slices.SortStableFunc(all, func(a, b Finding) int { return int(a.Class) - int(b.Class) })
	return all
}

// waitedMost is for how long a request may be kept waiting by an idle connection of the same client
// at a server that serves one at a time; it is no shorter than what the slowest of links need.
const waitedMost = 20 * time.Second

// waited finds requests that waited for too long because of the client itself. What ends on a
// link that is out is not seen to end.
func waited(w *World, log []*Told) (all []Finding) {
	if w.Anchor < 0 || slices.ContainsFunc(w.Links, func(l Link) bool { return len(l.Outages) > 0 }) {
		return nil
	}
	for _, t := range log {
		if t.Behind > waitedMost {
			all = append(all, Finding{Waited, t.Run, 0, t.String()})
		}
	}
	return all
}

type judge struct {
	*World
	log []*Told
	o   Outcome
	had bool // an earlier run has brought the file
}

// heard are the answers about the outcome's file up to its run.
func (j *judge) heard(yield func(*Told) bool) {
	for _, t := range j.log {
		if t.File == j.o.File && t.Run <= j.o.Run && !yield(t) {
			return
		}
	}
}

// is says whether data is the beginning of a version, or of the portal's page.
func (j *judge) is(data []byte, version int) bool {
	var want [blockSize]byte
	for off := 0; off < len(data); off += blockSize {
		got := data[off:min(len(data), off+blockSize)]
		bytesAt(want[:], j.o.File, version, int64(off))
		if !bytes.Equal(got, want[:len(got)]) {
			return false
		}
	}
	return version != portalPage || len(data) <= len(page)
}

// safe looks at the bytes.
func (j *judge) safe() (Class, string) {
	data, size := j.o.Data, int64(len(j.o.Data))
	file := &j.Files[j.o.File]
	if j.o.Err != nil && j.Mode == Stream {
		return j.beginning()
	}
	if j.o.Err != nil {
		if j.o.Exists && !j.had && (j.Foreign == nil || !j.isForeign(data)) {
			return Left, fmt.Sprintf("there is a file of %d bytes (%s) though it ended with %q", size, j.describe(), j.o.Err)
		}
		return 0, ""
	}
	for v := range file.Versions {
		if file.Versions[v].Size == size && j.is(data, v) {
			return 0, ""
		}
	}
	var lie *Told
	for t := range j.heard {
		if t.Lie && t.Size == size && (size == 0 || j.is(data, t.Version)) {
			if j.excused(t) {
				return 0, ""
			}
			lie = t
		}
	}
	if lie != nil {
		return Believed, fmt.Sprintf("%d bytes, which link%d alone told: %s", size, lie.Link, lie.Kind)
	}
	if j.Foreign != nil && j.isForeign(data) {
		return Short, fmt.Sprintf("what was there at first, %d bytes of v%d, is called complete", size, j.Foreign.Version)
	}
	text := fmt.Sprintf("%d bytes: %s", size, j.describe())
	for v := range file.Versions {
		if j.is(data, v) {
			return Short, text
		}
	}
	if j.undecidable() {
		return 0, ""
	}
	return Mixed, text
}

func (j *judge) isForeign(data []byte) bool {
	return j.Mode == Single && int64(len(data)) == j.Foreign.Size && j.is(data, j.Foreign.Version)
}

// beginning looks at what a stream got before it failed.
func (j *judge) beginning() (Class, string) {
	for v := range j.Files[j.o.File].Versions {
		if j.is(j.o.Data, v) && int64(len(j.o.Data)) <= j.Files[j.o.File].Versions[v].Size {
			return 0, ""
		}
	}
	for t := range j.heard {
		if t.Lie && j.is(j.o.Data, t.Version) && j.excused(t) {
			return 0, ""
		}
	}
	if j.undecidable() {
		return 0, ""
	}
	return Leaked, fmt.Sprintf("before %q a stream got %d bytes: %s", j.o.Err, len(j.o.Data), j.describe())
}

// describe tells what the data is made of, block by block.
func (j *judge) describe() string {
	var b strings.Builder
	last, n := "", 0
	add := func(next string) {
		if next == last {
			n++
			return
		}
		if n > 0 {
			fmt.Fprintf(&b, " %s*%d", last, n)
		}
		last, n = next, 1
	}
	for _, of := range j.blocks() {
		add(of.String())
	}
	add("")
	return strings.TrimSpace(b.String())
}

// origin is what a block's bytes are of: versions, by number. A block of several is one in
// which they meet. None: at least a byte is of no version.
type origin []int

func (o origin) String() string {
	switch {
	case len(o) == 0:
		return "?"
	case o[0] == portalPage:
		return "page"
	}
	var s []string
	for _, v := range o {
		s = append(s, fmt.Sprint("v", v))
	}
	return strings.Join(s, "/")
}

// blocks are the origins of the data's blocks.
func (j *judge) blocks() (all []origin) {
	for off := 0; off < len(j.o.Data); off += blockSize {
		all = append(all, j.originOf(j.o.Data[off:min(len(j.o.Data), off+blockSize)], int64(off)))
	}
	return all
}

func (j *judge) originOf(block []byte, off int64) origin {
	versions := len(j.Files[j.o.File].Versions)
	want := make([][blockSize]byte, versions)
	for v := range versions {
		if fill(want[v][:], j.o.File, v, off); bytes.Equal(block, want[v][:len(block)]) {
			return origin{v}
		}
	}
	if off == 0 && bytes.HasPrefix([]byte(page), block[:min(len(block), len(page))]) {
		return origin{portalPage}
	}
	// Versions share a byte here and there: what counts is words.
	var of origin
	for i := 0; i < len(block); i += 8 {
		word, known := block[i:min(len(block), i+8)], false
		for v := range versions {
			if bytes.Equal(word, want[v][i:i+len(word)]) {
				known = true
				if len(word) == 8 && !slices.Contains(of, v) {
					of = append(of, v)
				}
			}
		}
		for k, b := range word { // versions may meet within a word
			known = known || slices.ContainsFunc(want, func(w [blockSize]byte) bool { return w[i+k] == b })
		}
		if !known {
			return nil
		}
	}
	return of
}

// excused says whether nothing could have told that a lie is one.
func (j *judge) excused(lie *Told) bool {
	if j.Anchor < 0 || j.Algorithm == "single" {
		return !j.contradicted(lie)
	}
	if j.echoed(lie) || (lie.Size > readMost || j.o.Took >= time.Minute) && !j.sized(lie) {
		return true
	}
	for _, t := range j.log {
		switch {
		case t.Run > j.o.Run:
		case j.Mode == List && t.Link == lie.Link && t.Version >= 0 && (!t.Lie || j.true(t)):
			return true // it has been believed before
		case j.Mode == List && t.Link == lie.Link && t.Lie && j.echoed(t):
			return true // "Once two links have agreed about one file of a server, each is believed there for the rest of the run" (docs/SECURITY.md)
		}
	}
	return false
}

// contradicted says whether the only link had brought bytes from behind the end that a lie tells, of
// the same version and in the same run, before it told that, once. That a connection was cut
// takes none of them away.
func (j *judge) contradicted(lie *Told) bool {
	if len(j.Links) > 1 || j.Mode == List || j.HTTP2 || !lie.Unsized {
		return false
	}
	more, times := false, 0
	for t := range j.heard {
		switch {
		case t.Run != lie.Run || t.Version != lie.Version:
		case t.Lie && t.Size == lie.Size:
			times++
		case times == 0 && !t.Lie && strings.Contains(t.Kind, ", cut after") && t.Off+t.Sent.Load() > lie.Size:
			more = true
		}
	}
	return more && times == 1
}

// readMost is how large in bytes an object may be to be read over a second link: "where nothing
// but the end of a body tells the size, bodies of up to 1 MiB are read over a second link as well"
// (docs/SECURITY.md). A link that has told no size is asked "for as long as a minute".
const readMost = 1 << 20

// sized says whether an answer of the run over another link than a lie's has told a size of the file.
func (j *judge) sized(lie *Told) bool {
	for t := range j.heard {
		if t.Run == j.o.Run && t.Link != lie.Link && t.Version >= 0 && !t.Lie &&
			(!t.Unsized && (t.Sent.Load() > 0 || strings.HasPrefix(t.Kind, "416")) || t.Sent.Load() == t.Size) {
			return true
		}
	}
	return false
}

// echoed says whether another link tells the same lie.
func (j *judge) echoed(lie *Told) bool {
	return slices.ContainsFunc(j.log, func(t *Told) bool {
		return t.Run <= j.o.Run && t.Lie && t.File == lie.File && t.Link != lie.Link && t.Size == lie.Size && (t.Size == 0 || t.Version == lie.Version)
	})
}

// true says whether a lie is none, by chance.
func (j *judge) true(t *Told) bool {
	for _, v := range j.Files[t.File].Versions {
		if v.Size == t.Size {
			return true
		}
	}
	return false
}

// undecidable says whether a mixture may be one that nothing could have told.
func (j *judge) undecidable() bool {
	var seen []int
	blocks := j.blocks()
	for _, of := range blocks {
		if len(of) == 0 || of[0] == portalPage {
			return false
		}
		seen = append(seen, of...)
	}
	if !j.metInARun(seen) {
		return false
	}
	if !j.SameSecond {
		return false
	}
	tagged := map[int]bool{} // versions of which a block came with entity tags alone
	for i, of := range blocks {
		for _, v := range of {
			if j.onlyTagged(v, int64(i)*blockSize) {
				tagged[v] = true
			}
		}
	}
	return len(tagged) <= 1
}

// metInARun says whether bytes of several of some versions came in one run: what an earlier run has
// left is compared with what comes (docs/SECURITY.md).
func (j *judge) metInARun(versions []int) bool {
	came := map[int]int{} // by run: a version
	for t := range j.heard {
		if t.Sent.Load() == 0 || !slices.Contains(versions, t.Version) {
			continue
		}
		if v, ok := came[t.Run]; ok && v != t.Version {
			return true
		}
		came[t.Run] = t.Version
	}
	return false
}

// onlyTagged says whether every answer that had a block of a version showed an entity tag.
func (j *judge) onlyTagged(version int, off int64) bool {
	for t := range j.heard {
		if t.Version == version && t.Tag == "" && t.Off < off+blockSize && t.Off+t.Sent.Load() > off {
			return false
		}
	}
	return true
}

// alive looks whether the file came, in time.
func (j *judge) alive() (Class, string) {
	if j.o.Took >= j.Bound() {
		return Hung, fmt.Sprintf("ended after %v only: %v", j.o.Took, j.o.Err)
	}
	if j.o.Stormed {
		return Hung, "connections and requests without end"
	}
	if j.o.Err == nil || j.o.Interrupted && j.Runs[j.o.Run].Interrupt > 0 {
		return 0, ""
	}
	if j.expected() {
		return Missing, fmt.Sprintf("after %v: %v", j.o.Took.Round(time.Millisecond), j.o.Err)
	}
	if j.o.OnDisk && j.Foreign == nil {
		return Blamed, j.o.Err.Error()
	}
	return 0, ""
}

// expected says whether the file has to come.
func (j *judge) expected() bool {
	if j.Anchor < 0 || j.Ambiguous {
		return false
	}
	if j.Foreign != nil && !j.continues() {
		return false
	}
	for t := range j.heard {
		if t.Lie && j.excused(t) {
			return false
		}
	}
	return true
}

// continues says whether what another program has left can be gone on with: it is of the
// anchor's version, and the anchor knows ranges, and answers within the 3 s for which another
// link's answer waits (docs/SECURITY.md).
func (j *judge) continues() bool {
	for _, i := range j.Links[j.Anchor].Edges {
		e := &j.Edges[i]
		if len(e.Changes) > 0 || e.Ranges != RangesYes && e.Ranges != RangesCapped {
			return false
		}
		if len(j.Links) > 1 && slices.ContainsFunc(e.Faults, func(f Fault) bool { return f.Kind == Delay || f.Kind == Silence }) {
			return false
		}
	}
	return j.Foreign.Version == 0
}
