package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/term"
	"github.com/mlget/mlget/internal/units"
)

// Detail is how much a summary says.
type Detail struct {
	Columns int  // no line has more; 0: there is no bound
	Verbose bool // the table and what the run took, also of one link
	Energy  bool // --energy was given: modelled energy is shown also for a single link
}

// WriteSummary writes a run's result for people: a line and, for several links, how well they
// were used. Names from outside are made harmless. Errors are left to the end of the program,
// which knows the hints as well.
func WriteSummary(w io.Writer, r Report, d Detail) error {
	var b strings.Builder
	b.WriteString(fold(headline(r)+"\n", d.Columns))
	full := d.Verbose || len(r.Links) > 1
	if full {
		writeLinks(&b, r, d.Columns)
	}
	if line := footer(r, d.Verbose); (full || d.Energy) && line != "" {
		b.WriteString(fold(line+"\n", d.Columns))
	}
	if measured := r.Energy != nil && !r.Energy.Modelled; full || d.Energy || measured {
		b.WriteString(fold(energyLine(r), d.Columns))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("summary: %w", err)
	}
	return nil
}

// received is the payload that counts.
func received(r Report) (bytes int64) {
	for _, l := range r.Links {
		bytes += l.Bytes
	}
	return bytes
}

// mismatch is the exit code of a file whose checksum is not what was expected.
const mismatch = 9

func headline(r Report) string {
	var s strings.Builder
	what := term.Printable(r.Output)
	switch {
	case len(r.Files) > 0:
		what = filesLine(r)
	case r.Output == "":
		what = "nothing"
	case r.Output == "-":
		what = "standard output"
	}
	s.WriteString(what)
	s.WriteString(": ")
	got := received(r)
	switch {
	case r.ExitCode == 0 || len(r.Files) > 0:
		s.WriteString(units.Bytes(got))
	case r.ExitCode == mismatch:
		s.WriteString(units.Bytes(got) + ", not what the checksum says,")
	default:
		s.WriteString(units.Bytes(r.ResumedBytes + got))
		if r.SizeBytes >= 0 {
			s.WriteString(" of " + units.Bytes(r.SizeBytes))
		}
		s.WriteString(", incomplete,")
		if r.ResumedBytes > 0 {
			s.WriteString(" " + units.Bytes(got))
		}
	}
	fmt.Fprintf(&s, " in %s s, %s Mbit/s", decimals(r.Seconds, 2), decimals(r.ThroughputMbps, 1))
	if r.ResumedBytes > 0 {
		fmt.Fprintf(&s, "; %s were there before", units.Bytes(r.ResumedBytes))
	}
	return s.String()
}

// filesLine says how many of several files there are by now.
func filesLine(r Report) string {
	const interrupted = 130 // it was not done, but did not fail
	failed, before := 0, 0
	for i := range r.Files {
		switch f := &r.Files[i]; {
		case f.ExitCode == interrupted:
		case f.ExitCode != 0:
			failed++
		case f.SizeBytes > 0 && f.ResumedBytes == f.SizeBytes:
			before++
		}
	}
	text := fmt.Sprintf("%d files", r.FilesTotal)
	if r.FilesTotal == 1 {
		text = "1 file"
	}
	if r.FilesDone < r.FilesTotal {
		text = fmt.Sprintf("%d of %d files", r.FilesDone, r.FilesTotal)
	}
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if before > 0 {
		text += fmt.Sprintf(", %d there before", before)
	}
	return text
}

// writeLinks writes the table of the links. The narrower the screen, the fewer columns it
// has, and why a link is in its state stands below it.
func writeLinks(b *strings.Builder, r Report, columns int) {
	rows := [][]string{{"link", "bytes", "seconds", "Mbit/s", "peak", "RTT ms", "requests", "retries", "state"}}
	for _, l := range r.Links {
		rtt := "-"
		if l.RTTMs > 0 {
			rtt = decimals(l.RTTMs, 1)
		}
		state := l.State
		if l.Reason != "" {
			state += ": " + l.Reason
		}
		rows = append(rows, []string{
			term.Printable(l.Name), units.Bytes(l.Bytes), decimals(l.Seconds, 2), decimals(l.ThroughputMbps, 1),
			decimals(l.PeakMbps, 1), rtt, strconv.Itoa(l.Requests), strconv.Itoa(l.Retries), term.Printable(state),
		})
	}
	rows = append(rows, []string{
		"total", units.Bytes(received(r)), decimals(r.Seconds, 2), decimals(r.ThroughputMbps, 1),
		"", "", strconv.Itoa(r.Requests), strconv.Itoa(r.Retries), "",
	})
	table := inColumns(rows)
	var reasons []string
	if columns > 0 && widest(table) > columns {
		for i, l := range r.Links {
			if l.Reason != "" {
				reasons = append(reasons, term.Printable("  "+l.Name+": "+l.State+": "+l.Reason)+"\n")
				rows[i+1][len(rows[0])-1] = term.Printable(l.State)
			}
		}
		table = inColumns(rows)
	}
	// Least needed first: seconds and peaks go before what tells whether a link works.
	for _, name := range []string{"requests", "seconds", "retries", "RTT ms", "peak", "state", "bytes"} {
		if columns <= 0 || widest(table) <= columns {
			break
		}
		at := slices.Index(rows[0], name)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], at, at+1)
		}
		table = inColumns(rows)
	}
	for _, line := range table {
		b.WriteString(line + "\n")
	}
	for _, reason := range reasons {
		b.WriteString(fold(reason, columns))
	}
}

// inColumns lines rows up, with the state to the left.
func inColumns(rows [][]string) []string { return term.Columns(rows, slices.Index(rows[0], "state")) }

// widest is how many columns the longest line has.
func widest(lines []string) (columns int) {
	for _, line := range lines {
		columns = max(columns, utf8.RuneCountInString(line))
	}
	return columns
}

// fold breaks lines that are longer than so many columns between their parts, or else
// between words, but never between a number and its unit.
func fold(text string, columns int) string {
	if columns <= 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(line)-1 <= columns {
			b.WriteString(line)
			continue
		}
		used := 0
		for _, part := range parts(strings.TrimRight(line, "\n"), columns) {
			n := utf8.RuneCountInString(strings.TrimRight(part, " "))
			if used > 0 && used+n > columns {
				b.WriteString("\n  ")
				used = 2
			}
			b.WriteString(part)
			used += utf8.RuneCountInString(part)
		}
		b.WriteByte('\n')
	}
	// A line that was broken ends with what would have separated it from the next.
	return strings.NewReplacer(" \n", "\n", " · \n", "\n").Replace(b.String())
}

// parts is a line in pieces behind which it may be broken: what separators end, and of
// these the words where one is longer than a line.
func parts(line string, columns int) (all []string) {
	for _, part := range strings.SplitAfter(strings.NewReplacer("; ", ";\t", ", ", ",\t", " · ", " ·\t").Replace(line), "\t") {
		part = strings.Replace(part, "\t", " ", 1)
		if utf8.RuneCountInString(part) <= columns-2 {
			all = append(all, part)
			continue
		}
		words := strings.SplitAfter(part, " ")
		for i := 0; i < len(words); i++ {
			word := words[i]
			for i+1 < len(words) && strings.ContainsAny(word[:1], "0123456789") && !strings.ContainsAny(words[i+1][:min(1, len(words[i+1]))], "0123456789") && word == words[i] {
				i++
				word += words[i]
			}
			all = append(all, word)
		}
	}
	return all
}

// footer says how well the links were used, and, if verbose, what that took.
func footer(r Report, verbose bool) string {
	var parts []string
	if carriers(r) > 1 {
		parts = append(parts, "Link Δ "+decimals(r.LinkDeltaSeconds, 2)+" s")
	}
	if n := len(r.Tuning); n > 0 {
		parts = append(parts, tuned(r.Tuning))
	}
	if verbose {
		parts = append(parts, "waste "+units.Bytes(r.WastedBytes))
	}
	if sum := linkSum(r); sum > 0 {
		parts = append(parts, "efficiency "+decimals(100*r.ThroughputMbps/sum, 0)+" % of the links' sum")
	}
	if verbose {
		parts = append(parts,
			"CPU "+decimals(r.CPUSeconds, 2)+" s",
			"peak RSS "+units.Bytes(r.MaxRSSBytes))
	}
	if p := r.Policy; p != nil {
		parts = append(parts, fmt.Sprintf("%d sizes from the program, %d from Algorithm 3 (answers that were late: %d)", p.Questions-p.Fallbacks, p.Fallbacks, p.LateAnswers))
	}
	if r.Power != nil {
		parts = append(parts, "power "+decimals(r.Power.MedianWatts, 2)+" W ("+term.Printable(r.Power.Source)+")")
	}
	return strings.Join(parts, " · ")
}

// tuned says how many connections the links have come to have.
func tuned(all []Tuning) string {
	var links []string
	seen := make(map[string]bool)
	for i := len(all) - 1; i >= 0; i-- {
		t := &all[i]
		if seen[t.Link] {
			continue
		}
		seen[t.Link] = true
		n := t.Plan.Connections()
		text := fmt.Sprintf("%d connections", n)
		switch n {
		case 0:
			text = "connections as needed"
		case 1:
			text = "1 connection"
		}
		links = append(links, text+" over "+term.Printable(t.Link))
	}
	slices.Reverse(links)
	return term.Printable(all[len(all)-1].Mode) + ": " + strings.Join(links, ", ")
}

// carriers is how many links carried payload that counts.
func carriers(r Report) (n int) {
	for _, l := range r.Links {
		if l.Bytes > 0 {
			n++
		}
	}
	return n
}

// linkSum is what all links together could have carried, in Mbit/s. The efficiency is the
// throughput's share of it. 0 means that there is none: nothing had to be carried, or a link
// was left idle on purpose.
func linkSum(r Report) (mbps float64) {
	if received(r) == 0 {
		return 0
	}
	for i := range r.Links {
		l := &r.Links[i]
		if l.BandwidthMbps > 0 {
			if l.spared() {
				return 0
			}
			mbps += l.capacity()
		}
	}
	return mbps
}

// capacity is what the link could have carried, in Mbit/s: the scheduler's estimate, but at
// most the peak and at least the throughput. The estimate is the upper decile of rates over
// 0.1 s, which is too high where bytes arrive unevenly; the peak is over half a second, from
// the kernel's count. A peak that equals the throughput was not measured.
func (l *Link) capacity() float64 {
	mbps := l.BandwidthMbps
	if l.PeakMbps > l.ThroughputMbps {
		mbps = min(mbps, l.PeakMbps)
	}
	return max(mbps, l.ThroughputMbps)
}

// spared says whether the link was left idle on purpose, at least for a while. Banned, lost and
// capped links have other states.
func (l *Link) spared() bool {
	return l.Reason != "" && (l.State == string(event.LinkUnused) || l.State == string(event.LinkUsed))
}

func decimals(x float64, n int) string { return strconv.FormatFloat(x, 'f', n, 64) }
