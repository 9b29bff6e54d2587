package deptest

import (
	"bufio"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// wallClock is what makes a moment of the time of day out of one that has a monotonic
// reading too, or a moment of the time of day out of text or numbers: from then on it
// moves when somebody sets the clock.
func wallClock() *regexp.Regexp {
	return regexp.MustCompile(`\.(Unix|UnixNano|UnixMilli|UnixMicro|UTC|Local|In|ModTime|AppendFormat|MarshalText|MarshalJSON)\(|` +
		`http\.ParseTime|time\.(Parse|ParseInLocation|Date|Unix|UnixMilli|UnixMicro)\(|\.Round\(0\)|CLOCK_REALTIME`)
}

// timeOfDay are the files of what downloads that may look at the time of day, and why.
func timeOfDay() map[string]string {
	return map[string]string{
		"internal/fetch/retryafter.go":      "a date in Retry-After, against the server's own",
		"internal/fetch/validate.go":        "the server's own date",
		"internal/fetch/digest.go":          "the server's own dates, against each other",
		"internal/fetch/h2baton.go":         "a deadline that has passed",
		"internal/link/resolve.go":          "a deadline that has passed",
		"internal/link/resolve_netd.go":     "a deadline that has passed",
		"internal/link/varlink.go":          "a deadline that has passed",
		"internal/link/watch_linux.go":      "a deadline that has passed",
		"internal/android/fwmarkd_linux.go": "a deadline that has passed",
		"internal/android/getaddrinfo.go":   "a deadline that has passed",
		"internal/cli/get/conditions.go":    "a file's own time, against its server's",
		"internal/store/rerun.go":           "a file's own time, against its server's",
		"internal/store/ours.go":            "whether a file is the one that was written: its own time, against itself",
		"internal/plan":                     "the days and hours of a person's calendar",
		"internal/android/androidtest":      "of tests",
		"internal/store/crashtest":          "of tests",
		"internal/event/eventtest":          "of tests",
		"internal/record":                   "what a record says of its beginning",
		"internal/metrics":                  "when a run began and ended, for Prometheus",
		"internal/report":                   "what a report says of its beginning",
		"internal/progress":                 "what a person is shown",
		"pkg/scheduler/schedtest":           "of tests",
	}
}

// TestWallClock: nothing that a download decides hangs on the time of day, which may
// be set back by an hour or forward by a day while it runs. There is no way to set the
// clock of one process alone; but what has a monotonic reading is compared by that.
func TestWallClock(t *testing.T) {
	root := moduleRoot(t)
	read := 0
	for _, dir := range []string{
		"internal/engine", "internal/fetch", "internal/store", "internal/link", "internal/android", "internal/plan", "internal/event", "internal/cli",
		"internal/progress", "internal/metrics", "internal/report", "internal/record", "internal/power", "internal/modelled", "pkg",
	} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			read++
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			rel = filepath.ToSlash(rel)
			for allowed := range timeOfDay() {
				if strings.HasPrefix(rel, allowed) {
					return nil
				}
			}
			for _, line := range wallLines(t, name) {
				t.Errorf("%s looks at the time of day: %s", rel, line)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 150 {
		t.Errorf("only %d files were read", read)
	}
	for _, line := range []string{"x := now.Unix()", "t.Round(0)", `time.Parse(a, b)`} {
		if !wallClock().MatchString(line) {
			t.Errorf("%s would not be noticed", line)
		}
	}
}

// wallLines are the lines of a file that look at the time of day.
func wallLines(t *testing.T, name string) (lines []string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it is only read
	clock := wallClock()
	for s := bufio.NewScanner(f); s.Scan(); {
		code, _, _ := strings.Cut(s.Text(), "//")
		if clock.MatchString(code) {
			lines = append(lines, strings.TrimSpace(code))
		}
	}
	return lines
}
