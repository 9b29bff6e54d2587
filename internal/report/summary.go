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

// WriteSummary writes r for people: what came, a table of the links, and how
// well they were used. Names from elsewhere are made harmless. What went wrong is
// left to whoever ends the program, who knows the hints as well.
func WriteSummary(w io.Writer, r Report) error {
	var b strings.Builder
	b.WriteString(headline(r))
	b.WriteByte('\n')
	writeLinks(&b, r)
	b.WriteString(footer(r))
	b.WriteByte('\n')
	b.WriteString(energyLine(r))
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

func writeLinks(b *strings.Builder, r Report) {
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
	writeTable(b, rows)
}

// writeTable lines rows up: the first and the last column to the left, the
// numbers between to the right.
func writeTable(b *strings.Builder, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			line.WriteString("  ")
			if i == 0 || i == len(row)-1 {
				line.WriteString(cell + pad)
			} else {
				line.WriteString(pad + cell)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
}

func footer(r Report) string {
	var parts []string
	if carriers(r) > 1 {
		parts = append(parts, "Link Δ "+decimals(r.LinkDeltaSeconds, 2)+" s")
	}
	if n := len(r.Tuning); n > 0 {
		parts = append(parts, tuned(r.Tuning))
	}
	parts = append(parts, "waste "+units.Bytes(r.WastedBytes))
	if sum := linkSum(r); sum > 0 {
		parts = append(parts, "efficiency "+decimals(100*r.ThroughputMbps/sum, 0)+" % of the links' sum")
	}
	parts = append(parts,
		"CPU "+decimals(r.CPUSeconds, 2)+" s",
		"peak RSS "+units.Bytes(r.MaxRSSBytes))
	if p := r.Policy; p != nil {
		parts = append(parts, fmt.Sprintf("%d sizes from the program, %d from Algorithm 3 (%d late answers)", p.Questions-p.Fallbacks, p.Fallbacks, p.LateAnswers))
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

// linkSum is what all links together could have carried, in Mbit/s: what was
// estimated, but not less than they did carry. The efficiency is the throughput's
// part of it; 0: there is none, since nothing was to be carried, or a link was left
// idle on purpose.
func linkSum(r Report) (mbps float64) {
	if received(r) == 0 {
		return 0
	}
	for _, l := range r.Links {
		if l.BandwidthMbps > 0 {
			if l.spared() {
				return 0
			}
			mbps += max(l.BandwidthMbps, l.ThroughputMbps)
		}
	}
	return mbps
}

// spared says whether something decided that the link should be idle, at least for a
// while: other reasons are those of a banned, lost or capped link.
func (l Link) spared() bool {
	return l.Reason != "" && (l.State == string(event.LinkUnused) || l.State == string(event.LinkUsed))
}

func decimals(x float64, n int) string { return strconv.FormatFloat(x, 'f', n, 64) }
