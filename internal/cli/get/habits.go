package get

import (
	"strings"

	"github.com/spf13/pflag"
)

// addHabits takes the flags of wget and curl that ask for what is done anyway, or that
// have another name here. Help does not list them.
func (o *Options) addHabits(f *pflag.FlagSet) {
	f.BoolP("location", "L", false, "redirects are followed")
	f.BoolP("fail", "f", false, "errors are the exit status")
	f.Bool("show-error", false, "errors are told")
	f.BoolVarP(&o.quiet, "silent", "s", false, "--quiet")
	f.BoolVar(&o.insecure, "no-check-certificate", false, "--insecure")
	f.StringVar(&o.password, "password", "", "of --user")
	f.BoolVar(&o.compressed, "compressed", false, "files are saved as they are sent")
	f.BoolVar(&o.createDirs, "create-dirs", false, "make the directories of --output")
	f.StringVar(&o.netrcFile, "netrc-file", "", "--netrc with another file")
	f.BoolVar(&o.netrcTry, "netrc-optional", false, "--netrc, if there is one")
	for _, name := range []string{"netrc-file", "netrc-optional", "location", "fail", "show-error", "silent", "no-check-certificate", "password", "create-dirs", "compressed"} {
		f.Lookup(name).Hidden = true
	}
	o.conditions.addHabits(f)
	o.cookies.addHabits(f)
	o.proxy.addHabits(f)
	o.request.addHabits(f, &o.tries)
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
