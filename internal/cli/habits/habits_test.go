package habits_test

import (
	"bufio"
	"cmp"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/get"
	"github.com/mlget/mlget/internal/cli/habits"
)

// downloadFlags are mlget's.
func downloadFlags() *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(get.Options).AddFlags(f)
	return f
}

// meaning is what a command line sets, and its arguments.
func meaning(t *testing.T, words []string) string {
	t.Helper()
	f := downloadFlags()
	if err := f.Parse(words); err != nil {
		t.Errorf("%q: %v", words, err)
		return ""
	}
	var set []string
	same := map[string]string{"output-document": "output", "no-check-certificate": "insecure", "silent": "quiet"}
	f.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "location", "fail", "show-error": // without effect
		default:
			set = append(set, cmp.Or(same[f.Name], f.Name)+"="+f.Value.String())
		}
	})
	slices.Sort(set)
	return strings.Join(append(set, f.Args()...), " ")
}

// TestCommandLines: command lines as wget's, curl's and aria2's manuals have them mean
// what testdata/lines.txt says, or are refused with a hint that has the words there.
func TestCommandLines(t *testing.T) {
	t.Chdir("testdata")
	file, err := os.Open("lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	lines := 0
	for scan := bufio.NewScanner(file); scan.Scan(); {
		line := scan.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		lines++
		theirs, ours, ok := strings.Cut(line, " => ")
		if !ok {
			t.Fatalf("%q has no =>", line)
		}
		got, err := habits.Translate(strings.Fields(theirs)[1:], downloadFlags())
		if hint, refused := strings.CutPrefix(ours, "! "); refused {
			own, is := errors.AsType[exit.UsageError](err)
			if !is || !strings.Contains(own.Hint, hint) {
				t.Errorf("%s: %q, %v, hint %q, want %q", theirs, got, err, own.Hint, hint)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", theirs, err)
			continue
		}
		if have, want := meaning(t, got), meaning(t, strings.Fields(ours)); have != want {
			t.Errorf("%s means %s, want %s", theirs, have, want)
		}
	}
	if lines < 150 {
		t.Errorf("%d command lines, want 150", lines)
	}
}

// FuzzTranslate: no command line panics, and what has been translated once stays so.
func FuzzTranslate(f *testing.F) {
	for _, s := range []string{"-fsSLO u", "-x16 -s16 -k1M u", "--dir d u", "-r -A x u", "-C - u", "-- -x", "-nc", "--progress=bar:force u"} {
		f.Add(s)
	}
	known := downloadFlags()
	f.Fuzz(func(t *testing.T, text string) {
		once, err := habits.Translate(strings.Fields(text), known)
		if err != nil {
			return
		}
		if twice, err := habits.Translate(once, known); err == nil && !slices.Equal(once, twice) {
			t.Errorf("%q is %q, and then %q", text, once, twice)
		}
	})
}
