package adversary

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// String tells the history: what a person needs to play it by hand.
func (w *World) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "history %d: %s, HTTP/%s, algorithm %s", w.Seed, [...]string{"one file", "a stream", "a list"}[w.Mode], map[bool]string{false: "1.1", true: "2"}[w.HTTP2], w.Algorithm)
	if w.Algorithm == "1" {
		fmt.Fprintf(&b, " of %d bytes", w.StaticLimit)
	}
	fmt.Fprintf(&b, ", parallelism %d\n", w.Parallelism)
	switch {
	case w.Anchor < 0:
		b.WriteString("  no link is honest throughout: bytes are judged, not whether they come\n")
	case w.Ambiguous:
		fmt.Fprintf(&b, "  link%d is honest; another one contradicts it with bytes: an error is allowed\n", w.Anchor)
	default:
		fmt.Fprintf(&b, "  link%d is honest: the file has to come\n", w.Anchor)
	}
	if f := w.Foreign; f != nil {
		fmt.Fprintf(&b, "  -c: the first %d bytes of v%d are there already\n", f.Size, f.Version)
	}
	if w.Consumer > 0 {
		fmt.Fprintf(&b, "  who reads takes %.0f KB/s\n", w.Consumer/1e3)
	}
	for i, f := range w.Files {
		fmt.Fprintf(&b, "  f%d:", i)
		for v, x := range f.Versions {
			fmt.Fprintf(&b, " v%d of %d bytes, ETag %s, %s;", v, x.Size, x.Tag, x.Modified.Format("Jan 2 15:04"))
		}
		b.WriteString("\n")
	}
	for i := range w.Links {
		fmt.Fprintf(&b, "  link%d: %s\n", i, &w.Links[i])
	}
	for i := range w.Edges {
		if slices.ContainsFunc(w.Links, func(l Link) bool { return slices.Contains(l.Edges, i) }) {
			fmt.Fprintf(&b, "  edge%d: %s\n", i, &w.Edges[i])
		}
	}
	for i, r := range w.Runs {
		if r.Interrupt > 0 {
			fmt.Fprintf(&b, "  run %d: %s after %v\n", i, map[bool]string{false: "interrupted", true: "killed"}[r.Killed], r.Interrupt)
		}
	}
	return b.String()
}

func (l *Link) String() string {
	s := fmt.Sprintf("%.0f KB/s, %v one way, edges %v", l.Rate/1e3, l.Latency.Round(time.Microsecond), l.Edges)
	for _, x := range []struct {
		n    int
		what string
	}{{l.Refused, "connections refused"}, {l.NoName, "names not found"}} {
		switch {
		case x.n < 0:
			s += ", all " + x.what
		case x.n > 0:
			s += fmt.Sprintf(", the first %d %s", x.n, x.what)
		}
	}
	for _, o := range l.Outages {
		s += fmt.Sprintf(", nothing from %v to %v", o.From, o.To)
	}
	if l.Cut > 0 {
		s += fmt.Sprintf(", each connection reset after %d bytes", l.Cut)
	}
	if l.Portal == PortalPage {
		s += ", a portal gives its page for everything"
	}
	if l.Portal == PortalMove {
		s += ", a portal redirects everything to its page"
	}
	return s
}

func (e *Edge) String() string {
	var s []string
	add := func(format string, args ...any) { s = append(s, fmt.Sprintf(format, args...)) }
	switch {
	case len(e.Turns) > 0:
		add("versions by turns %v", e.Turns)
	default:
		for _, c := range e.Changes {
			add("v%d from run %d, %v", c.Version, c.Run, c.At)
		}
	}
	var shows []string
	for _, x := range e.Shows {
		shows = append(shows, x.String())
	}
	add("shows %s", strings.Join(shows, ", "))
	if e.TagSuffix != "" {
		add("ETags end in %s", e.TagSuffix)
	}
	if e.Ranges != RangesYes {
		add("%s", [...]string{
			"", "no ranges", fmt.Sprintf("no ranges after %d answers", e.After), fmt.Sprintf("at most %d bytes an answer after %d answers", e.Most, e.After),
			"ranges get 400", "ranges get 403", "ranges get 500", "ranges get 501", "ranges get a closed connection",
			"ranges get multipart", "ranges get 206 without Content-Range", "ranges get a wrong Content-Range",
			"ranges get Content-Range .../*", "ranges get another ETag each time",
		}[e.Ranges])
	}
	add("%s", [...]string{"by length", "chunked", "until close"}[e.Framing])
	if e.KeepAlive > 0 {
		add("%d requests a connection", e.KeepAlive)
	}
	if e.Conns > 0 {
		add("beyond %d requests at once %d", e.Conns, e.Refusal)
	}
	if e.Idle > 0 {
		add("idle connections are closed after %v", e.Idle)
	}
	if e.OneByOne {
		add("one connection at a time")
	}
	if e.Redirects {
		add("redirects to a mirror")
	}
	if e.EmptyOK {
		add("ranges of nothing get 200")
	}
	if e.Success != 0 {
		add("%d for 200", e.Success)
	}
	for _, f := range e.Faults {
		s = append(s, f.String())
	}
	return strings.Join(s, "; ")
}

// String names the validators.
func (x Shown) String() string {
	var s []string
	switch {
	case x&ShowTag != 0:
		s = append(s, "ETag")
	case x&ShowWeak != 0:
		s = append(s, "weak ETag")
	}
	if x&ShowDate != 0 {
		s = append(s, "date")
	}
	if len(s) == 0 {
		return "none"
	}
	return strings.Join(s, "+")
}

func (f Fault) String() string {
	s := [...]string{
		"delay", "silence", "reset", "close", "reset in body", "cut in body", "stall in body", "status", "200 for a range",
		"another range", "more than its length", "length too small", "416 without size", "416 */0", "416 */N", "empty 200", "204",
		"small 206", "wrong total", "short end", "portal page", "portal redirect",
	}[f.Kind]
	s += fmt.Sprintf(" (N %d", f.N)
	if f.Wait > 0 {
		s += fmt.Sprint(", ", f.Wait)
	}
	s += fmt.Sprintf(") from answer %d", f.First)
	if f.Count > 0 {
		s += fmt.Sprintf(", %d times", f.Count)
	}
	if f.File >= 0 {
		s += fmt.Sprintf(", of f%d", f.File)
	}
	return s
}
