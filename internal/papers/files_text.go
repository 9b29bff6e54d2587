package papers

import (
	"fmt"
	"io"
	"strings"

	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// filesIntro opens docs/measured/many-files-sim.md.
const filesIntro = `# Many files, rehearsed

This page is made by ` + "`linklab rehearse many-files-sim`" + ` and checked by a test of internal/papers. It holds the program's own scheduler and tuner, over model links, against K. Guner and T. Kosar, *Energy-Performance Trade-offs in Mobile Data Transfers* and *Energy-Efficient Mobile Network I/O*. What the same jobs come to over emulated links, with real TCP and beside other tools, is in [many-files.md](many-files.md).

Their sets of files: HTML (1500 of 102-153 KB), IMAGE (200 of 524-786 KB), VIDEO (64 of 10-20 MB), from [internal/dataset](../../internal/dataset). Sizes are not known beforehand. Every joule is *modelled*: the scenario's radio, and %.0f mW for each connection at work. That term is derived: it is what their figures for VIDEO imply (power rises 2.9 times from one connection to 16, of which 62 mW each are left over an S7's radio); HTML would give 160, IMAGE 48. "Phone" is a link whose connections have no more than 471 KB in flight: over one, their VIDEO comes with 13 Mbit/s from 290 ms away. The server answers at once, and nobody else uses the link. One thing is kinder here than over a real link: when connections are given up, those that stay have the windows for the whole link at once, where CUBIC takes seconds to grow them; the modes are made for the latter (an earlier EHT that went down more boldly was better here, and worse over linklab).

`

// paperRow is what the papers tell of a set from one file at once to 16 (Sydney,
// Galaxy S5; tradeoffs, section 4).
type paperRow struct {
	set      string
	from, to float64 // Mbit/s
	saved    float64 // % of energy
	lte      float64 // % over LTE
}

func paperRows() []paperRow {
	return []paperRow{
		{"html", 2.6, 42, 70, 77},
		{"image", 5.6, 48, 68, 76},
		{"video", 13, 61, 38, 39.5},
	}
}

// WriteFiles writes the study as a page of Markdown.
func WriteFiles(w io.Writer, s *FilesStudy) error {
	var b strings.Builder
	fmt.Fprintf(&b, filesIntro, 1000*tuning.PerConnection)
	s.writeConcurrency(&b)
	s.writeParallelism(&b)
	s.writeModes(&b)
	s.writeSearches(&b)
	b.WriteString(filesModes)
	_, err := io.WriteString(w, b.String())
	return err
}

// find is the case with so many files at once, or so many connections for each.
func find(cases []FilesCase, scenario, set string, concurrency, parallelism int) *FilesCase {
	for i := range cases {
		if c := &cases[i]; c.Scenario == scenario && c.Set == set && c.Concurrency == concurrency && c.Parallelism == parallelism {
			return c
		}
	}
	return &FilesCase{}
}

// curve writes a table with a line for each set and a column for each level.
func curve(b *strings.Builder, head string, cases []FilesCase, scenarios, sets []string, levels []int, at func(int) (concurrency, parallelism int), cell func(*FilesCase) string) {
	fmt.Fprintf(b, "| %s |", head)
	for _, n := range levels {
		fmt.Fprintf(b, " %d |", n)
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(levels)) + "\n")
	for _, name := range scenarios {
		for _, set := range sets {
			fmt.Fprintf(b, "| %s, %s |", name, set)
			for _, n := range levels {
				concurrency, parallelism := at(n)
				fmt.Fprintf(b, " %s |", cell(find(cases, name, set, concurrency, parallelism)))
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n")
}

func mbps(c *FilesCase) string   { return fmt.Sprintf("%.1f", c.Mbps) }
func joules(c *FilesCase) string { return fmt.Sprintf("%.1f", c.Per100MB) }

// saves is how much less energy a case takes than another, in %.
func saves(from, to *FilesCase) float64 { return -percent(to.Per100MB, from.Per100MB) }

func (s *FilesStudy) writeConcurrency(b *strings.Builder) {
	b.WriteString("## Files at once\n\nPhone, `--mode manual -j N`: N files at once, one connection each, no request before the one before it is answered. Mbit/s:\n\n")
	at := func(n int) (int, int) { return n, 1 }
	curve(b, "at once", s.Concurrency, filesServers(), filesSets(), levels(), at, mbps)
	b.WriteString("Joules per 100 MB:\n\n")
	curve(b, "at once", s.Concurrency, filesServers(), filesSets(), levels(), at, joules)
	b.WriteString("From one file at once to 16, from Sydney:\n\n| set | Mbit/s, paper | Mbit/s | energy, paper | energy | over LTE, paper | over LTE |\n| --- | --- | --- | ---: | ---: | ---: | ---: |\n")
	for _, p := range paperRows() {
		one, many := find(s.Concurrency, "sydney", p.set, 1, 1), find(s.Concurrency, "sydney", p.set, 16, 1)
		fmt.Fprintf(b, "| %s | %.1f to %.0f (%.1fx) | %.1f to %.1f (%.1fx) | -%.0f %% | %+.0f %% | -%.1f %% | %+.0f %% |\n", p.set,
			p.from, p.to, p.to/p.from, one.Mbps, many.Mbps, many.Mbps/one.Mbps, p.saved, -saves(one, many),
			p.lte, -saves(find(s.LTE, "sydney-lte", p.set, 1, 1), find(s.LTE, "sydney-lte", p.set, 16, 1)))
	}
	b.WriteString("\nThe gain ends between 16 and 32 for small files and sooner for large ones, as in the papers, and so does the saving of energy, which turns round when each further connection draws more than it saves. ")
	html := func(server string) float64 {
		best := 0.0
		one := find(s.Concurrency, server, "html", 1, 1)
		for _, n := range levels() {
			best = max(best, saves(one, find(s.Concurrency, server, "html", n, 1)))
		}
		return best
	}
	fmt.Fprintf(b, "The most that HTML saves: Sydney %.0f %% (paper 70), Frankfurt %.0f %% (65), Austin %.0f %% (50).\n\n", html("sydney"), html("frankfurt"), html("austin"))
}

func (s *FilesStudy) writeParallelism(b *strings.Builder) {
	b.WriteString("## Connections for each file\n\nPhone, from Sydney, `--mode manual -j 1 -p N`: one file at a time over N connections. Mbit/s, and joules per 100 MB:\n\n")
	at := func(n int) (int, int) { return 1, n }
	sets := append(filesSets(), "1gb")
	curve(b, "for each", s.Parallelism, []string{"sydney"}, sets, streamLevels(), at, mbps)
	curve(b, "for each", s.Parallelism, []string{"sydney"}, sets, streamLevels(), at, joules)
	one := find(s.Parallelism, "sydney", "video", 1, 1)
	best := one.Mbps
	for _, n := range streamLevels() {
		best = max(best, find(s.Parallelism, "sydney", "video", 1, n).Mbps)
	}
	fmt.Fprintf(b, "VIDEO becomes %.1f times as fast (paper: 3.1), HTML and IMAGE do not (paper: nothing or worse): files up to a MiB are not cut. The paper's single file of 1 GB goes from 24 to 86 Mbit/s (3.6x), on another day than the rest.\n\n", best/one.Mbps)
}

func (s *FilesStudy) writeModes(b *strings.Builder) {
	b.WriteString(`## The modes

"of bound" is the fluid bound over the time taken: the least time in which the links could carry that many bytes. Mbit/s per joule is throughput over energy, as in the papers, so it falls with the size of the set.

| scenario | set | mode | s | Mbit/s | of bound | J per 100 MB | Mbit/s per J | Link Δ, s | connections at the end |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |
`)
	for i := range s.Modes {
		c := &s.Modes[i]
		fmt.Fprintf(b, "| %s | %s | %s | %.2f | %.1f | %.4f | %.2f | %.3f | %.3f | %s |\n", c.Scenario, c.Set, c.Mode,
			c.Seconds, c.Mbps, c.OfBound, c.Per100MB, c.PerJoule, c.Delta, plus(c.Plan))
	}
	b.WriteString("\nGeometric means against HAT, and in how many of the cases each is the best of the three (or as good within 1 %):\n\n| mode | Mbit/s | J per 100 MB | Mbit/s per J | fastest | least energy | most Mbit/s per J |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, m := range s.Means() {
		fmt.Fprintf(b, "| %s | %.3f | %.3f | %.3f | %d of %d | %d of %d | %d of %d |\n", m.Mode, m.Mbps, m.Per100MB, m.PerJoule,
			m.Fastest, m.Cases, m.Cheapest, m.Cases, m.Best, m.Cases)
	}
	b.WriteString("\n")
}

// plus writes numbers of connections of several links.
func plus(n []int) string {
	parts := make([]string, len(n))
	for i, k := range n {
		if parts[i] = fmt.Sprint(k); k == 0 {
			parts[i] = "-"
		}
	}
	return strings.Join(parts, " + ")
}

func (s *FilesStudy) writeSearches(b *strings.Builder) {
	b.WriteString("## What EHT settles on\n\nBeside every number of connections (with two links, every pair from 1 to 7), each run for the whole job. \"Settled\" is the job with what EHT chose from its beginning; \"whole\" the job with EHT's search.\n\n| scenario | set | buffers | best | Mbit/s per J | EHT's choice | settled, of best | whole, of best |\n| --- | --- | --- | --- | ---: | --- | ---: | ---: |\n")
	within := 0
	for i := range s.Searches {
		r := &s.Searches[i]
		buffers := "phone"
		if r.Buffer == 0 {
			buffers = "any"
		}
		if r.OfBest() >= settledWithin {
			within++
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %.3f | %s | %.4f | %.4f |\n", r.Scenario, r.Set, buffers, plus(r.Best), r.Ratio, plus(r.Chosen), r.OfBest(), r.Whole/r.Ratio)
	}
	fmt.Fprintf(b, "\nWithin 2 %% of the best in %d of %d. Where it is not, the job was over first.\n\n", within, len(s.Searches))
}

// settledWithin is how near to the best ratio EHT should settle.
const settledWithin = 0.98

// filesModes ends the page.
const filesModes = `## How the modes differ from the papers'

Their channels carry one file after the other, or a few in a pipeline; ours are connections that always have their next requests, and take over one another's rests at the end. So few connections fill a link, and the papers' formulas, which give a channel to each file that has to be in flight, would give far more than are of use (17 for HTML from Sydney).

- **HAT** starts wide, because first windows of ten packets each fill a long link sooner, folds to 8 to 24 connections for each link, because those end together sooner and cost less, and goes on giving up one after the other where data waits for the link, as more connections than fill it only draw power: down to 8, or until half a round trip of queue is left. It doubles them where the link then does less than before and that helps. They are dealt to large, medium and small files in turn. The papers' parallelism, with the first window for the buffer, lets all of a class share large files.
- **LowE** looks for the least number of connections that fills the link, ceil(BDP/buf), by trying twice as many from one on, unless data waits for the link already, and deals them by the papers' formulas. With two links it leaves the dearer one alone (` + "`--energy min-energy`" + `).
- **EHT** begins at one connection for each class and goes on by two, a sampling interval each, as the papers' does; when more are worse it tries the numbers next to the best, where they may be better, and keeps the best. It compares R²/P, which is Mbit/s per joule of the job, the papers' throughput efficiency: R/P, which an interval shows, is the least energy for a byte, LowE's aim. Intervals are a fiftieth of the job, 5 s at most and four round trips at least. A search from one connection on costs a short job over a long trip up to a third of its efficiency (\"whole\" above); a job that is over before a trial pays keeps one.
- **Manual** is what downloaders mean by it: ` + "`-j`" + ` files at once, ` + "`-p`" + ` connections of each link for each, nothing else.
`
