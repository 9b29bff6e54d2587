package page

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/mlget/mlget/internal/plot"
	"github.com/mlget/mlget/internal/study"
	"github.com/mlget/mlget/internal/term"
)

// WriteText writes the tables for a terminal and, with sketch, figures drawn with
// characters; columns is how wide it is.
func WriteText(w io.Writer, s *study.Study, columns int, sketch bool, o Options) error {
	if _, err := fmt.Fprintf(w, "%s\n\n", term.Printable(headline(s))); err != nil {
		return err
	}
	if sketch {
		for _, f := range o.figures(s) {
			if err := plot.Sketch(w, f.Figure, columns); err != nil {
				return err
			}
		}
	}
	var b strings.Builder
	for _, t := range Tables(s) {
		b.WriteString(t.Title + "\n")
		b.WriteString(lineUp(t))
		if t.Foot != "" {
			b.WriteString("  " + t.Foot + "\n")
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// lineUp gives a table's lines.
func lineUp(t Table) string {
	rows := append([][]string{t.Head}, t.Rows...)
	for i, row := range rows {
		rows[i] = slices.Clone(row)
		for k, cell := range row {
			rows[i][k] = term.Printable(cell)
		}
	}
	return strings.Join(term.Columns(rows), "\n") + "\n"
}

func writeMarkdown(w io.Writer, s *study.Study) error {
	var escapes []string
	for _, special := range []string{`\`, "|", "[", "]", "!", "_", "`", "*", "~"} {
		escapes = append(escapes, special, `\`+special)
	}
	escape := strings.NewReplacer(append(escapes, "&", "&amp;", "<", "&lt;")...)
	cell := func(text string) string { return escape.Replace(term.Printable(text)) }
	var b strings.Builder
	b.WriteString("# mlget report\n\n" + cell(headline(s)) + "\n")
	for _, p := range s.Problems {
		b.WriteString("\n- " + cell(p))
	}
	for _, t := range Tables(s) {
		b.WriteString("\n## " + cell(t.Title) + "\n\n")
		if t.Note != "" {
			b.WriteString(cell(t.Note) + "\n\n")
		}
		for i, row := range append([][]string{t.Head}, t.Rows...) {
			b.WriteByte('|')
			for _, text := range row {
				b.WriteString(" " + cell(text) + " |")
			}
			b.WriteByte('\n')
			if i == 0 {
				b.WriteString("| --- |" + strings.Repeat(" ---: |", len(row)-1) + "\n")
			}
		}
		if t.Foot != "" {
			b.WriteString("\n" + cell(t.Foot) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeJSON(w io.Writer, s *study.Study) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(term.HarmlessJSON(text), '\n'))
	return err
}

// writeCSV writes a row for each run, with every metric and each link's part: what a
// statistics program wants. What is not known is empty.
func writeCSV(w io.Writer, s *study.Study) error {
	metrics := study.Metrics()
	links := s.Links()
	out := csv.NewWriter(w)
	head := []string{"file", "approach", "algorithm", "energy_policy", "started", "complete", "links", "power_source", "covered", "partial", "tail_cut", "base_out_of_line"}
	for _, m := range metrics {
		head = append(head, m.Name)
	}
	for _, l := range links {
		l = plainText(l)
		head = append(head, l+"_bytes", l+"_finished_seconds", l+"_median_mbps")
	}
	rows := [][]string{head}
	for _, a := range s.Approaches {
		for _, r := range a.All() {
			row := []string{
				plainText(r.Name), plainText(a.Name), plainText(r.Report.Algorithm), plainText(r.Report.EnergyPolicy),
				r.Report.Started.Format("2006-01-02T15:04:05.000Z07:00"), strconv.FormatBool(r.Complete()),
			}
			m := r.Measured()
			row = append(row, plainText(strings.Join(m.Links, "+")), plainText(m.Kind), plainNumber(m.Covered), strconv.FormatBool(m.Partial), strconv.FormatBool(m.TailCut), strconv.FormatBool(m.BaseOutOfLine))
			for _, m := range metrics {
				row = append(row, plainNumber(m.Of(r)))
			}
			for _, l := range links {
				bytes, finished, mbps := r.LinkPart(l)
				row = append(row, plainNumber(bytes), plainNumber(finished), plainNumber(mbps))
			}
			rows = append(rows, row)
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return err
	}
	return out.Error()
}

// plainText is text that no spreadsheet takes for a formula: names come from outside.
func plainText(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

func plainNumber(v study.Value) string {
	if !v.Known() {
		return ""
	}
	return strconv.FormatFloat(float64(v), 'f', -1, 64)
}
