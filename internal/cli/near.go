package cli

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/exit"
)

// nearest is the word of words that is nearest to a mistyped word, with at most so many wrong
// letters; "" if none is near enough. Short words allow fewer wrong letters.
func nearest(word string, words []string, wrong int) (near string) {
	least := wrong + 1
	for _, w := range words {
		most := 0
		switch n := min(utf8.RuneCountInString(word), utf8.RuneCountInString(w)); {
		case n >= 6:
			most = wrong
		case n >= 4:
			most = min(1, wrong)
		}
		if d := distance([]rune(word), []rune(w)); d <= most && d < least {
			near, least = w, d
		}
	}
	return near
}

// distance is how many letters must be put in, left out, replaced or swapped with the
// next one to make b of a.
func distance(a, b []rune) int {
	before, last, now := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		now[0] = i + 1
		for j := range b {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			now[j+1] = min(replaced, last[j+1]+1, now[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				now[j+1] = min(now[j+1], before[j-1]+1)
			}
		}
		before, last, now = last, now, before
	}
	return last[len(b)]
}

// nearFlag is the flag of a command that is nearest to a mistyped name.
func nearFlag(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return nearest(name, names, 2)
}

// commandNames are the commands of the program.
func commandNames(root *cobra.Command) (names []string) {
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// noCommand says that a command is not there, and which are.
func noCommand(root *cobra.Command, name string) error {
	return exit.Usagef("there is no command %q; there are %s", name, strings.Join(commandNames(root), ", "))
}

// misread finds what stands where a URL should, and was hardly meant as one: a command
// that is not quite there, a number that belongs to a flag. Hosts of one word remain
// hosts, unless they are a slip away from a command.
func misread(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	for _, word := range args {
		if len(word) <= 3 && strings.Trim(word, "0123456789") == "" && word != "" {
			return exit.UsageError{
				Err:  errors.New(word + " is no URL"),
				Hint: "-p N is how many connections a link has for a file, -j N how many files are fetched at once",
			}
		}
	}
	word := args[0]
	if strings.ContainsAny(word, "./:0123456789-") {
		return nil
	}
	near := nearest(strings.ToLower(word), commandNames(root), 1) // two letters off is another word: docker, record, export
	if near == "" {
		return nil
	}
	return exit.UsageError{Err: noCommand(root, word), Hint: "did you mean mlget " + near + "? A host of that name is http://" + word}
}
