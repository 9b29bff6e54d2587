package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// newHelpCommand is cobra's, but for what there is no help about, which is a mistake.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return usagef("there is no command %q", strings.Join(args, " "))
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
	cmd.Args = noArgs
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
	e := usageError{err: err, hint: cmd.CommandPath() + " --help lists what there is"}
	var unknown interface {
		GetSpecifiedName() string
		GetSpecifiedShortnames() string
	}
	if !cmd.HasParent() && errors.As(err, &unknown) {
		if hint := foreignFlag(unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames()); hint != "" {
			e.hint = hint
		}
	}
	return e
}
