package flags

import "github.com/spf13/pflag"

// Expert is the heading of flags that only the manual lists.
const Expert = "Expert"

// Annotations of a flag.
const (
	group   = "group"   // the heading that help lists it below
	details = "details" // what the manual adds to help's one line
)

// AddGroup defines the flags that add defines, which help lists below a heading.
func AddGroup(f *pflag.FlagSet, heading string, add func(*pflag.FlagSet)) {
	set := pflag.NewFlagSet(heading, pflag.ContinueOnError)
	set.SortFlags = false
	add(set)
	set.VisitAll(func(flag *pflag.Flag) { _ = set.SetAnnotation(flag.Name, group, []string{heading}) }) // it is there
	f.AddFlagSet(set)
}

// Detail adds to the manual's text of a flag, beyond help's one line.
func Detail(f *pflag.FlagSet, name, text string) {
	_ = f.SetAnnotation(name, details, []string{text}) // a test holds the manual against it
}

// Details is the text that Detail added, or "".
func Details(f *pflag.Flag) string { return annotation(f, details) }

// Heading is the heading of a flag's group; "": it has none.
func Heading(f *pflag.Flag) string { return annotation(f, group) }

func annotation(f *pflag.Flag, key string) string {
	if values := f.Annotations[key]; len(values) > 0 {
		return values[0]
	}
	return ""
}
