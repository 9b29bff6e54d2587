package sweep

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// none stands where there is no figure.
const none = "–"

// size writes a block's size.
func size(n int64) string {
	if n%1024 == 0 {
		return strconv.FormatInt(n>>10, 10) + "K"
	}
	return strconv.FormatInt(n, 10)
}

// measureOf is a figure of which there is a table.
type measureOf struct {
	title    string
	decimals int
	of       func(Summary) Figure
}

func measures() []measureOf {
	return []measureOf{
		{"Throughput, Mbit/s", 2, func(s Summary) Figure { return s.Mbps }},
		{"Dynamic energy, J/100 MB", 2, func(s Summary) Figure { return s.JoulesPer100MB }},
		{"Power, median, W", 2, func(s Summary) Figure { return s.MedianWatts }},
		{"Power, peak, W", 2, func(s Summary) Figure { return s.PeakWatts }},
		{"CPU, s", 2, func(s Summary) Figure { return s.CPU }},
	}
}

// Markdown writes the tables, which are for people as they are: for each block
// size, concurrency downwards and parallelism to the right; then, where there
// are several block sizes, for each parallelism these to the right. A figure
// that no download has gets no table.
func Markdown(w io.Writer, h Header, results []Result) error {
	var b strings.Builder
	all := Summarise(h.Grid, results)
	at := map[Setting]Summary{}
	failed := 0
	for _, s := range all {
		at[s.Setting] = s
		failed += s.Failed
	}
	fmt.Fprintf(&b, "%s: %d downloads, %d of them failed. Medians.\n", h.Target, len(results), failed)
	for _, m := range measures() {
		if !known(all, m.of) {
			continue
		}
		for _, block := range h.Grid.Block {
			if len(h.Grid.Block) > 1 && len(h.Grid.Parallelism) == 1 {
				break // the table below says it all
			}
			fmt.Fprintf(&b, "\n%s; blocks of %s\n", m.title, size(block))
			matrix(&b, "files at once \\ streams", labels(h.Grid.Concurrency), labels(h.Grid.Parallelism), func(row, column int) string {
				return m.of(at[Setting{h.Grid.Concurrency[row], h.Grid.Parallelism[column], block}]).text(m.decimals)
			})
		}
		if len(h.Grid.Block) < 2 {
			continue
		}
		blocks := make([]string, len(h.Grid.Block))
		for i, n := range h.Grid.Block {
			blocks[i] = size(n)
		}
		for _, p := range h.Grid.Parallelism {
			fmt.Fprintf(&b, "\n%s; %d streams of a file\n", m.title, p)
			matrix(&b, "files at once \\ block", labels(h.Grid.Concurrency), blocks, func(row, column int) string {
				return m.of(at[Setting{h.Grid.Concurrency[row], p, h.Grid.Block[column]}]).text(m.decimals)
			})
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func known(all []Summary, of func(Summary) Figure) bool {
	for _, s := range all {
		if of(s).known() {
			return true
		}
	}
	return false
}

func labels(values []int) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = strconv.Itoa(v)
	}
	return out
}

// matrix writes a table in Markdown whose columns stand below each other.
func matrix(b *strings.Builder, corner string, rows, columns []string, cell func(row, column int) string) {
	const width = 8
	fmt.Fprintf(b, "\n| %-23s |", corner)
	for _, c := range columns {
		fmt.Fprintf(b, " %*s |", width, c)
	}
	fmt.Fprintf(b, "\n| %s |", strings.Repeat("-", 22)+":")
	for range columns {
		fmt.Fprintf(b, " %s: |", strings.Repeat("-", width-1))
	}
	b.WriteString("\n")
	for i, r := range rows {
		fmt.Fprintf(b, "| %23s |", r)
		for j := range columns {
			fmt.Fprintf(b, " %*s |", width, cell(i, j))
		}
		b.WriteString("\n")
	}
}

// CSV writes a line for each setting; a figure that is not known is empty.
func CSV(w io.Writer, h Header, results []Result) error {
	out := csv.NewWriter(w)
	rows := [][]string{{
		"concurrency", "parallelism", "block_bytes", "runs", "failed", "mbps", "mbps_deviation", "joules_per_100mb", "tail_joules",
		"mbps_per_joule", "median_watts", "peak_watts", "cpu_seconds", "connections",
	}}
	for _, s := range Summarise(h.Grid, results) {
		row := []string{
			strconv.Itoa(s.Concurrency), strconv.Itoa(s.Parallelism), strconv.FormatInt(s.Block, 10), strconv.Itoa(s.Runs), strconv.Itoa(s.Failed),
		}
		for _, v := range []Figure{
			s.Mbps, s.MbpsDeviation, s.JoulesPer100MB, s.TailJoules, s.MbpsPerJoule, s.MedianWatts, s.PeakWatts, s.CPU, s.Connections,
		} {
			text := ""
			if v.known() {
				text = strconv.FormatFloat(float64(v), 'g', 6, 64)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return out.WriteAll(rows)
}

// JSON writes the header, the summaries and every result as one object; a figure
// that is not known is null.
func JSON(w io.Writer, h Header, results []Result) error {
	doc := struct {
		Header
		Settings []Summary `json:"settings"`
		Results  []Result  `json:"results"`
	}{h, Summarise(h.Grid, results), results}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(doc)
}
