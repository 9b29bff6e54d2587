package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mlget/mlget/internal/linklab"
)

// Outcome is what came of a cell.
type Outcome struct {
	Cell    Cell
	Passed  bool
	Why     string // it has not
	Met     bool   // the fault has happened
	Hung    bool
	Wrong   bool // a wrong byte under the final name
	Code    int  // of the first run
	Error   string
	Resumed int64 // bytes that the second run had already
	Runs    int
	Seconds float64 // of both runs
}

// reportName is the program's report.
const reportName = "report.json"

// ran is what was seen of a run.
type ran struct {
	code   int
	stderr []byte
	leaks  []string // what was open, or running, when the download was over
	dump   []byte   // stacks of all goroutines, where they were asked for
	hung   bool
	report report
}

// report is what the harness reads of the program's own.
type report struct {
	ExitCode int    `json:"exit_code"`
	Resumed  int64  `json:"resumed_bytes"`
	Error    string `json:"error"`
}

// readReport reads the report in dir, once it is all there.
func readReport(dir string) (r report, ok bool) {
	text, err := os.ReadFile(filepath.Join(dir, reportName))
	if err != nil || json.Unmarshal(text, &r) != nil {
		return r, false
	}
	return r, true
}

// wanted is what may lie in a cell's directory under final names: of each file
// the hashes that are right.
type wanted map[string][]string

// check says what is wrong with a run that may end in some codes; nothing: "".
func check(r ran, dir string, codes []int, files wanted) (why string, wrong bool) {
	there := 0
	for name, hashes := range files {
		found, err := finals(dir, name)
		if err != nil {
			return err.Error(), false
		}
		for _, f := range found {
			sum, err := linklab.HashFile(f)
			switch {
			case err != nil:
				return err.Error(), false
			case !slices.Contains(hashes, sum):
				return "wrong bytes under the final name " + filepath.Base(f), true
			}
		}
		if len(found) > 0 {
			there++
		}
	}
	switch {
	case r.hung:
		return "hung", false
	case r.code == 0 && there < len(files):
		return fmt.Sprintf("exit 0 with %d of %d files", there, len(files)), false
	case r.code != 0 && there == len(files):
		return fmt.Sprintf("exit %d with every file under its final name", r.code), false
	case r.code != 0 && !slices.Contains(codes, r.code):
		return fmt.Sprintf("exit %d, which it may not: %s", r.code, firstLine(r.stderr)), false
	case r.code != r.report.ExitCode:
		return fmt.Sprintf("exit %d, but the report says %d", r.code, r.report.ExitCode), false
	case len(r.leaks) > 0:
		const few = 3
		return fmt.Sprintf("%d left over: %s", len(r.leaks), strings.Join(r.leaks[:min(few, len(r.leaks))], ", ")), false
	}
	switch {
	case r.code == 0:
		return leftovers(dir), false
	case r.dump != nil: // it came before the message
		return "", false
	}
	return badMessage(r.stderr, len(files)), false
}

// finals are the files with a final name: NAME, NAME.1 and so on.
func finals(dir, name string) ([]string, error) {
	all, err := filepath.Glob(filepath.Join(dir, name+"*"))
	return slices.DeleteFunc(all, func(f string) bool { return strings.Contains(f, ".part") }), err
}

// leftovers says what a finished download has left beside its file.
func leftovers(dir string) string {
	left, err := filepath.Glob(filepath.Join(dir, "*.part*"))
	if err != nil || len(left) == 0 {
		return ""
	}
	return "left behind: " + filepath.Base(left[0])
}

// badMessage says what is wrong with an error message: it should be one line for
// each file that failed, and perhaps a hint; of several files one more.
func badMessage(text []byte, files int) string {
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	errs := 0
	for _, l := range lines {
		switch {
		case strings.HasPrefix(l, "mlget: hint: "):
		case strings.HasPrefix(l, "mlget: ") && len(l) > len("mlget: ")+3:
			errs++
		default:
			return fmt.Sprintf("no clear error: %q", l)
		}
		if strings.ContainsFunc(l, func(c rune) bool { return unicode.IsControl(c) || c == unicode.ReplacementChar }) {
			return fmt.Sprintf("error with control characters: %q", l)
		}
	}
	if most := files + min(1, files-1); errs == 0 || errs > most {
		return fmt.Sprintf("error of %d lines: %q", errs, lines[0])
	}
	return ""
}

// leakedGoroutines are those of the download's packages in a dump of stacks, by
// the functions that they were started in.
func leakedGoroutines(dump []byte) []string {
	var leaks []string
	for g := range bytes.SplitSeq(dump, []byte("\n\n")) {
		if !bytes.HasPrefix(g, []byte("goroutine ")) {
			continue
		}
		for _, p := range []string{"engine", "fetch", "store", "link"} {
			at := bytes.Index(g, []byte("mlget/internal/"+p+"."))
			if at < 0 {
				continue
			}
			name, _, _ := strings.Cut(string(g[at:]), "(0x")
			line, _, _ := strings.Cut(name, "\n")
			leaks = append(leaks, "goroutine in "+line)
			break
		}
	}
	return leaks
}

// firstLine is the first line of an error, cut to a bearable length.
func firstLine(text []byte) string {
	const bearable = 200
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return strings.ToValidUTF8(line[:min(len(line), bearable)], "?")
}

// hangLimit is how long a run may take in all, on a machine that does other
// things too. The stall limits that runs are given are far below.
const hangLimit = 90 * time.Second

// hangLimit is that of a cell: where the round trip is 2 s each of six files may
// take twelve seconds, and the stall limits are six times as long, too.
func (c Cell) hangLimit() time.Duration {
	if c.Family == OfLink && LinkFault(c.Kind) == Latency {
		return 2 * hangLimit
	}
	return hangLimit
}
