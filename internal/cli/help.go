package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
)

// newHelpCommand is cobra's, but for what there is no help about, which is a mistake.
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

// refuseOthers makes a command that only holds others an error with a name that is
// none of theirs.
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

// flagError is what flags that cannot be understood end in.
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
		e.Hint = helpHint(cmd)
	}
	return e
}

// flagHint is what may have been meant by a flag that there is not, given alone or, as
// a letter, in a group.
func flagHint(cmd *cobra.Command, name, group string) string {
	if !cmd.HasParent() {
		if hint := foreignFlag(name, group); hint != "" {
			return hint
		}
	}
	if near := nearFlag(cmd, name); near != "" && group == "" {
		return "did you mean --" + near + "?"
	}
	return helpHint(cmd)
}

func helpHint(cmd *cobra.Command) string { return cmd.CommandPath() + " --help lists what there is" }
