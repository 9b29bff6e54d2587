package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/get"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/page"
	"github.com/mlget/mlget/internal/power"
	"github.com/mlget/mlget/internal/progress"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// addCompletions gives the shells completions for the flags of cmd and of its subcommands. They
// are computed when the key is pressed, so that links are the present ones.
func addCompletions(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if complete := completionOf(f); complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // it fails for unknown flags, and for a second function
		}
	})
	for _, sub := range cmd.Commands() {
		addCompletions(sub)
	}
}

// completionOf is how to complete a flag's value; nil: with names of files.
func completionOf(f *pflag.Flag) cobra.CompletionFunc {
	switch f.Name {
	case "links":
		return completeWords(linkNames, true)
	case "link":
		return completeLink
	case "directory-prefix", "sysfs":
		return completeFiles(cobra.ShellCompDirectiveFilterDirs)
	case "cacert":
		return completeFiles(cobra.ShellCompDirectiveFilterFileExt, "pem", "crt", "cer")
	case "metrics-textfile":
		return completeFiles(cobra.ShellCompDirectiveFilterFileExt, "prom")
	case "energy-model":
		return completeFiles(cobra.ShellCompDirectiveFilterFileExt, "json")
	case "write-out":
		return completeVariables
	}
	words := wordsOf(f.Name)
	switch {
	case words != nil:
		return completeWords(func(*cobra.Command) []string { return words }, f.Value.Type() == "stringSlice")
	case slices.Contains([]string{"output", "output-document", "input-file", "report", "record"}, f.Name):
		return nil
	}
	return cobra.NoFileCompletions
}

// wordsOf are the words that a flag takes; nil: it takes others.
func wordsOf(flag string) []string {
	switch flag {
	case "algorithm":
		return scheduler.Names()
	case "energy":
		return scheduler.EnergyNames()
	case "figure":
		return page.Names()
	case "progress":
		return []string{
			string(progress.ModeAuto), string(progress.ModeBar), string(progress.ModePlain),
			string(progress.ModeJSON), string(progress.ModeNone),
		}
	case "mode":
		return tuning.Names()
	case "power":
		return append(power.Names(), power.Model)
	case "power-unit":
		return []string{string(power.UnitAuto), string(power.MicroAmps), string(power.MilliAmps)}
	case "scenario":
		return append([]string{"all"}, scenario.Names()...)
	case "checksum":
		return []string{"sha256=", "sha512=", "sha1=", "md5="}
	case "overlap", "concurrency", "parallelism", "block-size":
		return []string{"auto"}
	}
	return nil
}

// linkNames are auto, the interfaces of this machine with what they are, and
// their kinds.
func linkNames(cmd *cobra.Command) []string {
	names := []string{
		cobra.CompletionWithDesc(link.Auto, "every usable link that costs nothing"),
		cobra.CompletionWithDesc(link.All, "every usable link"),
	}
	infos, err := link.List(cmd.Context())
	if err != nil {
		return names
	}
	for _, i := range infos {
		what := string(i.Tech)
		if i.Virtual != link.VirtualNot {
			what = string(i.Virtual)
		}
		if !i.Usable() {
			what = strings.TrimSpace(what + " (cannot be used)")
		}
		names = append(names, cobra.CompletionWithDesc(i.Name, what))
	}
	for _, kind := range link.Kinds(infos) {
		names = append(names, cobra.CompletionWithDesc(kind, "every usable link of this kind"))
	}
	return names
}

// completeWords completes one of the words; of a list, its last one.
func completeWords(words func(*cobra.Command) []string, list bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := ""
		if list {
			before = typed[:strings.LastIndexByte(typed, ',')+1]
		}
		taken := strings.Split(before, ",")
		var found []string
		directive := cobra.ShellCompDirectiveNoFileComp
		for _, w := range words(cmd) {
			name, _, _ := strings.Cut(w, "\t")
			if !strings.HasPrefix(before+name, typed) || slices.Contains(taken, name) {
				continue
			}
			found = append(found, before+w)
			if strings.HasSuffix(name, "=") {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
		}
		return found, directive
	}
}

// completeLink completes NAME,key=value...
func completeLink(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	words := func(*cobra.Command) []string {
		return []string{
			cobra.CompletionWithDesc("rate=", "most bytes per second"), cobra.CompletionWithDesc("cap=", "most bytes, as 50G/month"),
			cobra.CompletionWithDesc("window=", "hours, as 23:30-07:00"),
			cobra.CompletionWithDesc("bandwidth=", "what it can carry, in bytes per second"), cobra.CompletionWithDesc("dns=", "resolver to ask"),
			cobra.CompletionWithDesc("via=", "router behind the interface"),
			"tech=wifi", "tech=lte", "tech=nr", "tech=ethernet", "role=primary", "role=backup",
		}
	}
	if !strings.Contains(typed, ",") {
		words = func(cmd *cobra.Command) []string { return linkNames(cmd)[1:] } // auto has no attributes
	}
	found, directive := completeWords(words, true)(cmd, nil, typed)
	return found, directive | cobra.ShellCompDirectiveNoSpace
}

// completeVariables completes the last variable of a format.
func completeVariables(_ *cobra.Command, _ []string, typed string) (found []string, _ cobra.ShellCompDirective) {
	at := strings.LastIndex(typed, "%")
	if at < 0 {
		at = len(typed)
	}
	for _, name := range get.Variables() {
		if full := typed[:at] + "%{" + name + "}"; strings.HasPrefix(full, typed) {
			found = append(found, full)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeFiles completes names of files of some kind.
func completeFiles(kind cobra.ShellCompDirective, extensions ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return extensions, kind
	}
}
