package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
)

// newHelpCommand is cobra's, except that help about an unknown command is an error.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(cmd.Root(), strings.Join(args, " "))
			}
			of.InitDefaultHelpFlag()
			of.InitDefaultVersionFlag()
			return of.Help()
		},
		ValidArgsFunction: completeCommands,
	}
}

// helpWidth is the width of help in columns: that of a usual terminal.
const helpWidth = 80

// usage prints how a command is called. Not by a template: text/template would cost the
// phone's program half a megabyte.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n  " + cmd.UseLine() + "\n")
	if cmd.HasAvailableSubCommands() {
		b.WriteString("  " + cmd.CommandPath() + " COMMAND\n")
	}
	if cmd.HasExample() {
		b.WriteString("\nExamples:\n" + cmd.Example + "\n")
	}
	wrap := helpWidth
	if !cmd.HasParent() {
		wrap = 0 // each has a line
	}
	for _, g := range flagGroups(cmd) {
		b.WriteString("\n" + g.heading + ":\n" + g.set.FlagUsagesWrapped(wrap))
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, "  %-11s %s\n", sub.Name(), sub.Short)
			}
		}
	}
	if !cmd.HasParent() {
		b.WriteString(exit.Help + "\nmlget man says more, and has the flags for experts; mlget COMMAND --help.\n")
	}
	_, err := io.WriteString(cmd.OutOrStderr(), b.String())
	return err
}

// flagGroup is the flags of a command that are listed below one heading.
type flagGroup struct {
	heading string
	set     *pflag.FlagSet
}

// flagGroups are the flags of a command that help lists.
func flagGroups(cmd *cobra.Command) (groups []flagGroup) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		heading := cmp.Or(flags.Heading(f), "Flags")
		if cmd.HasParent() {
			heading = "Flags"
		} else if f.Name == "help" && len(groups) > 0 {
			heading = groups[len(groups)-1].heading
		}
		if f.Hidden || heading == flags.Expert {
			return
		}
		at := slices.IndexFunc(groups, func(g flagGroup) bool { return g.heading == heading })
		if at < 0 {
			at = len(groups)
			set := pflag.NewFlagSet(heading, pflag.ContinueOnError)
			set.SortFlags = false
			groups = append(groups, flagGroup{heading, set})
		}
		groups[at].set.AddFlag(f)
	})
	return groups
}

// refuseOthers makes an unknown name an error in a command that only holds others.
func refuseOthers(root *cobra.Command, name string) {
	i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name })
	if i < 0 {
		return
	}
	cmd := root.Commands()[i]
	cmd.Args = flags.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
}

// completeCommands completes the name of a command.
func completeCommands(cmd *cobra.Command, args []string, typed string) (names []string, _ cobra.ShellCompDirective) {
	for _, sub := range cmd.Root().Commands() {
		if len(args) == 0 && sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), typed) {
			names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// flagError is the error for flags that cannot be understood.
func flagError(cmd *cobra.Command, err error) error {
	e := exit.UsageError{Err: err}
	var (
		unknown *pflag.NotExistError
		value   *pflag.InvalidValueError
		own     exit.UsageError // of a value
	)
	switch {
	case errors.As(err, &own):
		e.Hint = own.Hint
	case errors.As(err, &value): // says what it wants
	case errors.As(err, &unknown):
		e.Hint = flagHint(cmd, unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames())
	default:
		e.Hint = flags.HelpHint(cmd)
	}
	return e
}

// flagHint suggests a flag for an unknown one, given alone or, as a letter, in a group.
func flagHint(cmd *cobra.Command, name, group string) string {
	if near := nearFlag(cmd, name); near != "" && group == "" {
		return "did you mean --" + near + "?"
	}
	return flags.HelpHint(cmd)
}
