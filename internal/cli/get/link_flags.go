package get

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/link"
)

// LinkFlags are a download's flags of links, for commands that open links once and share them.
type LinkFlags struct {
	names      []string
	Specs      []string // of links, as --link has them
	requireAll bool
	ipv4, ipv6 bool
}

// AddFlags defines the flags. specDetail is the manual's text of --link beyond its one line.
func (l *LinkFlags) AddFlags(f *pflag.FlagSet, specDetail string) {
	addLinkNames(f, &l.names)
	f.StringArrayVar(&l.Specs, "link", nil, "describe a link: `NAME,KEY=VALUE`")
	flags.Detail(f, "link", specDetail)
	f.BoolVar(&l.requireAll, "require-all-links", false, "fail if a named link cannot be used")
	f.BoolVarP(&l.ipv4, "ipv4", "4", false, "IPv4 only")
	f.BoolVarP(&l.ipv6, "ipv6", "6", false, "IPv6 only")
}

// addLinkNames defines the flag that names links.
func addLinkNames(f *pflag.FlagSet, names *[]string) {
	f.StringSliceVarP(names, "links", "l", []string{link.Auto}, "names, kinds, all, or auto")
	f.Lookup("links").Usage = "`LIST` of names, wifi, cellular, all (default auto)"
	f.Lookup("links").DefValue = "[]" // help would show the list in brackets
}

// Args are the flags as words of a download's command line, for Parse.
func (l *LinkFlags) Args() ([]string, error) {
	names, err := flags.NamedLinks(l.names)
	if err != nil {
		return nil, err
	}
	args := []string{
		fmt.Sprintf("--require-all-links=%v", l.requireAll), fmt.Sprintf("--ipv4=%v", l.ipv4), fmt.Sprintf("--ipv6=%v", l.ipv6),
	}
	if list := strings.Join(names, ","); list != link.Auto { // names that follow are added to these
		args = append(args, "--links="+list)
	}
	for _, spec := range l.Specs {
		args = append(args, "--link="+spec)
	}
	return args, nil
}
