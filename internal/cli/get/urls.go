package get

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/urlglob"
)

// outputFlag is the name of a file, of which each URL may have one.
type outputFlag struct{ o *Options }

func (f outputFlag) Type() string { return "string" }
func (f outputFlag) String() string {
	if f.o == nil {
		return ""
	}
	return f.o.output
}

func (f outputFlag) Set(text string) error {
	if err := (*flags.Name)(&f.o.output).Set(text); err != nil {
		return err
	}
	f.o.outputs = append(f.o.outputs, text)
	return nil
}

// errOutputs says what -o is for.
func errOutputs() error {
	return exit.UsageError{
		Err:  errors.New("--output and --checksum are for one URL, not for several"),
		Hint: "one -o for each URL, in their order; #1 in its name is what [...] or {...} in the URL stands for",
	}
}

// expand makes the URLs of the command line, and their files' names, where they have some.
func (o *Options) expand(t *task, args []string) error {
	named := len(o.outputs) == len(args) && !t.trees && o.inputFile == ""
	for i, text := range args {
		which := ""
		if len(args) > 1 {
			which = fmt.Sprintf("URL %d: ", i+1)
		}
		texts := func(yield func(urlglob.URL) bool) { yield(urlglob.URL{Text: text}) }
		if !o.globOff {
			glob, err := urlglob.Parse(text)
			if err != nil {
				return exit.UsageError{Err: errors.New(which + "[...] or {...} in the URL: " + err.Error()), Hint: "-g takes [] and {} as they are"}
			}
			if glob.Count() > urlglob.Most-len(t.urls) {
				return exit.Usagef("there are more than %d URLs", urlglob.Most)
			}
			texts = glob.All()
		}
		for u := range texts {
			parsed, err := flags.ParseURL(u.Text)
			if err != nil && which != "" {
				return exit.Usagef("%s%w", which, err)
			}
			if err != nil {
				return err
			}
			o.request.addQuery(parsed)
			t.urls = append(t.urls, parsed)
			if named {
				t.names = append(t.names, u.Name(o.outputs[i]))
			}
		}
	}
	return o.settleNames(t)
}

// settleNames makes of the names of a task's files those of a single file, or checks that
// each has another.
func (o *Options) settleNames(t *task) error {
	switch {
	case len(t.names) == 0:
		if len(o.outputs) > 1 && len(t.urls) > 1 {
			return errOutputs()
		}
		return nil
	case len(t.urls) == 1:
		o.output, t.names = t.names[0], nil
		return nil
	case !slices.ContainsFunc(t.names, func(name string) bool { return name != "-" }): // in order, one behind the other
		t.names = nil
		return nil
	case slices.Contains(t.names, "-"):
		return exit.UsageError{Err: errors.New("with -o - all URLs go to standard output"), Hint: "write -o - once"}
	}
	sorted := slices.Sorted(slices.Values(t.names))
	for i, name := range sorted[1:] {
		if name != sorted[i] {
			continue
		}
		if len(o.outputs) == 1 && !strings.Contains(o.outputs[0], "#") {
			return errOutputs()
		}
		return exit.Usagef("--output: two URLs have the name %s", name)
	}
	o.output = ""
	return nil
}
