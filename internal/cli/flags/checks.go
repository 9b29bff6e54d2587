// Package flags holds the values that flags of several commands take, and checks of them.
package flags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/pkg/scheduler"
)

// NoArgs fails with any argument.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.UsageError{Err: fmt.Errorf("unexpected argument %q", args[0]), Hint: HelpHint(cmd)}
	}
	return nil
}

// HelpHint leads to what a command takes.
func HelpHint(cmd *cobra.Command) string { return cmd.CommandPath() + " --help lists what there is" }

// NoSuch says that a flag takes other words.
func NoSuch(flag, word string, words []string) error {
	return exit.Usagef("%s: there is no %q; there are %s", flag, word, strings.Join(words, ", "))
}

// OnlyOf says that a flag takes other words than one of those given, if it does.
func OnlyOf(flag string, words []string, given ...string) error {
	for _, word := range given {
		if !slices.Contains(words, word) {
			return NoSuch(flag, word, words)
		}
	}
	return nil
}

// CheckEnergy says what is wrong with policies of --energy.
func CheckEnergy(given ...string) error {
	for _, text := range given {
		if name, _, shared := strings.Cut(text, "="); !slices.Contains(scheduler.EnergyNames(), name) || shared && name != scheduler.EnergyEMTCP.String() {
			return NoSuch("--energy", text, scheduler.EnergyNames())
		}
		if _, _, err := scheduler.ParseEnergy(text); err != nil {
			return exit.Usagef("--energy %s: %w", text, err)
		}
	}
	return nil
}

// NamedLinks is the list of --links without the blanks and empty places that scripts leave in
// it. A list without a name is an error and does not mean auto: a user who meant one link must
// not pay for another.
func NamedLinks(list []string) ([]string, error) {
	var names []string
	for _, name := range list {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, exit.Usagef("--links: there is no name; auto is every usable link that costs nothing, all is every usable link")
	}
	return names, nil
}
