package page

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"io"
	"slices"
	"time"

	"github.com/mlget/mlget/internal/plot"
	"github.com/mlget/mlget/internal/study"
	"github.com/mlget/mlget/internal/term"
)

// pageCSS is how the page looks, beside what plot.CSS says of figures.
const pageCSS = `*{box-sizing:border-box}
:root{color-scheme:light dark}
body{margin:0 auto;max-width:1120px;padding:1rem;background:var(--paper);color:var(--ink);font:16px/1.45 system-ui,sans-serif}
h1{font-size:1.5rem;margin:.2rem 0}
h2{font-size:1.15rem;margin:2rem 0 .5rem}
p{margin:.4rem 0}
.note{font-size:.875rem;opacity:.85;max-width:75ch}
.figs{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,348px),1fr));gap:.75rem;align-items:start}
.figs figure{margin:0;border:1px solid color-mix(in srgb,var(--faint) 40%,transparent);border-radius:6px;padding:.25rem;max-width:460px}
.figs svg{display:block;width:100%;height:auto}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid color-mix(in srgb,var(--faint) 40%,transparent);white-space:nowrap}
th{font-weight:600;white-space:normal;vertical-align:bottom}
th:first-child,td:first-child{text-align:left;position:sticky;left:0;background:var(--paper)}
tbody th{font-weight:400;white-space:nowrap}
li{overflow-wrap:anywhere}
@media (max-width:480px){body{padding:.5rem}.figs figure{padding:0;border-radius:0;border-width:1px 0}}
@media print{:root{color-scheme:light}body{max-width:none;padding:0;font-size:11pt}.figs{grid-template-columns:1fr 1fr}.figs figure,table{break-inside:avoid}h2,.note{break-after:avoid}.wide{overflow:visible}table{font-size:7.5pt}th,td{padding:.15rem .3rem}}
`

// csp lets the page do nothing but show itself.
const csp = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

// writeHTML writes the study as one page without scripts, which asks for nothing.
func writeHTML(w io.Writer, s *study.Study, o Options) error {
	var b bytes.Buffer
	title := headline(s)
	name := cmp.Or(o.Title, "mlget report")
	o.Title = "" // a page has it once
	fmt.Fprintf(&b, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>%s</title>
<style>
%s%s</style>
</head>
<body>
<h1>%s</h1>
<p>%s</p>
`, csp, text(name+": "+title), plot.CSS(), pageCSS, text(name), text(title))
	htmlProblems(&b, s)
	figures := o.figures(s)
	for _, section := range sections(len(s.Approaches) > 1) {
		var some []plot.Figure
		for _, f := range figures {
			if slices.Contains(section.names, f.Name) {
				some = append(some, f.Figure)
			}
		}
		if len(some) == 0 {
			continue
		}
		fmt.Fprintf(&b, "<h2>%s</h2>\n<p class=\"note\">%s</p>\n<div class=\"figs\">\n", text(section.title), text(section.note))
		for _, f := range some {
			b.WriteString("<figure>")
			b.Write(plot.AppendSVG(nil, f))
			b.WriteString("</figure>\n")
		}
		b.WriteString("</div>\n")
	}
	for _, t := range Tables(s) {
		htmlTable(&b, t)
	}
	b.WriteString("</body>\n</html>\n")
	_, err := w.Write(b.Bytes())
	return err
}

// section is figures that belong together, by their names.
type section struct {
	names []string
	title string
	note  string
}

// sections are those of a page: of one approach there are so few figures that they
// stand together.
func sections(several bool) []section {
	if !several {
		return []section{{Names(), "Over time", "Level lines: the median over time, of all runs the median. Dashed upright lines: when a link had its last byte; start and end of the download and, where it was watched, of its tail. CPU and memory are sampled once a second."}}
	}
	return []section{
		{[]string{"throughput"}, "Throughput over time", "Bytes count when they came over the link. Thin lines: one run each. Level lines: the median over time, of all runs the median. Dashed upright lines: when the link had its last byte, median of the runs."},
		{[]string{"time"}, "Download time", "Thin bars: when each link had its last byte. Their difference is Link Δ."},
		{[]string{"cpu", "compare-cpu"}, "CPU", "Of this process and of all, sampled once a second. Level line: the median over time of this process, of all runs the median."},
		{[]string{"memory", "compare-memory"}, "Memory", "Resident set of this process, sampled once a second."},
		{[]string{"power"}, "Power", "Level lines: the median during the download, and the base. Dashed upright lines: start and end of the download, and end of the tail, where it was watched."},
		{[]string{"energy", "peak-power"}, "Energy and peak power", "Main ∫: during the download, with base power."},
	}
}

// text is text from elsewhere, harmless in HTML and to whoever reads it.
func text(s string) string { return html.EscapeString(term.Printable(s)) }

func htmlProblems(b *bytes.Buffer, s *study.Study) {
	if len(s.Problems) == 0 {
		return
	}
	fmt.Fprintf(b, "<details open><summary>%d not as they should be</summary>\n<ul>\n", len(s.Problems))
	for i, p := range s.Problems {
		if i == maxProblems {
			fmt.Fprintf(b, "<li>and %d more</li>\n", len(s.Problems)-i)
			break
		}
		fmt.Fprintf(b, "<li>%s</li>\n", text(p))
	}
	b.WriteString("</ul>\n</details>\n")
}

// maxProblems is how many problems are listed.
const maxProblems = 20

func htmlTable(b *bytes.Buffer, t Table) {
	fmt.Fprintf(b, "<h2>%s</h2>\n", text(t.Title))
	if t.Note != "" {
		fmt.Fprintf(b, "<p class=\"note\">%s</p>\n", text(t.Note))
	}
	b.WriteString("<div class=\"wide\"><table><thead><tr>")
	for _, h := range t.Head {
		b.WriteString("<th>" + text(h) + "</th>")
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for _, row := range t.Rows {
		b.WriteString("<tr>")
		for _, cell := range row {
			b.WriteString("<td>" + text(cell) + "</td>")
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody></table></div>\n")
	if t.Foot != "" {
		fmt.Fprintf(b, "<p class=\"note\">%s</p>\n", text(t.Foot))
	}
}

// headline says what the study is about.
func headline(s *study.Study) string {
	var first, last time.Time
	versions := make(map[string]bool)
	var version string
	for _, a := range s.Approaches {
		for _, r := range a.All() {
			if at := r.Report.Started; !at.IsZero() {
				if first.IsZero() || at.Before(first) {
					first = at
				}
				if at.After(last) {
					last = at
				}
			}
			version = r.Report.Version
			versions[version] = true
		}
	}
	line := fmt.Sprintf("%s, %s", count(s.Runs(), "run"), count(len(s.Approaches), "approach"))
	if !first.IsZero() {
		const day, minute = "2 January 2006", "15:04"
		line += ", " + first.Format(day+" "+minute)
		switch {
		case last.Sub(first) < time.Minute:
		case first.Format(day) == last.Format(day):
			line += " to " + last.Format(minute)
		default:
			line += " to " + last.Format(day+" "+minute)
		}
	}
	if len(versions) == 1 && version != "" {
		line += ", mlget " + version
	}
	return line
}

func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case what == "approach":
		return fmt.Sprintf("%d approaches", n)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
