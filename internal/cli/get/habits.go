package get

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
)

// addHabits takes the flags of wget and curl that ask for what is done anyway, or that
// have another name here. Help does not list them.
func (o *Options) addHabits(f *pflag.FlagSet) {
	f.BoolP("location", "L", false, "redirects are followed")
	f.BoolP("fail", "f", false, "errors are the exit status")
	f.BoolP("show-error", "S", false, "errors are told")
	f.BoolVarP(&o.quiet, "silent", "s", false, "--quiet")
	f.BoolVar(&o.insecure, "no-check-certificate", false, "--insecure")
	f.VarP(agentFlag{o}, "agent", "A", "--user-agent")
	for _, name := range []string{"location", "fail", "show-error", "silent", "no-check-certificate", "agent"} {
		f.Lookup(name).Hidden = true
	}
	o.cookies.addHabits(f)
}

// agentFlag is curl's -A. wget's chooses files by their names, which with -r would be
// something else altogether.
type agentFlag struct{ o *Options }

func (f agentFlag) Type() string   { return "string" }
func (f agentFlag) String() string { return "" }

func (f agentFlag) Set(text string) error {
	f.o.userAgent, f.o.curlAgent = text, true
	return nil
}

// documentFlag is wget's -O FILE. curl's -O has no value, so that letters behind it
// would be taken for a name.
type documentFlag struct{ *flags.Name }

func (f documentFlag) Set(text string) error {
	if strings.Trim(text, "JL") == "" && text != "" {
		return exit.UsageError{
			Err:  errors.New("-O takes the name of a file"),
			Hint: "without -O a file is named as its URL, with --content-disposition as its server says; ./" + text + " is a file of that name",
		}
	}
	return f.Name.Set(text)
}

// asChecksum makes ALGO=HEX of what else people have: ALGO:HEX, or HEX alone, whose
// length tells which it is.
func asChecksum(text string) string {
	if strings.Contains(text, "=") {
		return text
	}
	if algorithm, sum, ok := strings.Cut(text, ":"); ok {
		return algorithm + "=" + sum
	}
	switch len(text) {
	case 32:
		return "md5=" + text
	case 40:
		return "sha1=" + text
	case 64:
		return "sha256=" + text
	case 128:
		return "sha512=" + text
	}
	return text
}
