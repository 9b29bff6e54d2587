package get

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/joblist"
	"github.com/mlget/mlget/internal/robots"
)

// treeOptions holds the flags of -r.
type treeOptions struct {
	level          depth
	accept, reject []string
	acceptRegex    string
	rejectRegex    string
	flat           bool
	cut            depth
	wait           time.Duration
	robots         string
}

func (o *treeOptions) addFlags(f *pflag.FlagSet) {
	f.Var(&o.level, "level", "with -r: pages to go through, at most")
	flags.Detail(f, "level", "1 is the first page alone; 0 or inf: no limit.")
	f.StringSliceVar(&o.accept, "accept", nil, "with -r: only suffixes or patterns of `LIST`")
	flags.Detail(f, "accept", "Comma-separated: endings of names, or patterns with * ? [ ]. -A LIST, together with -r, is the same.")
	f.StringSliceVar(&o.reject, "reject", nil, "with -r: no suffixes or patterns of `LIST`")
	flags.Detail(f, "reject", "-R LIST, together with -r, is the same.")
}

func (o *treeOptions) addExpertFlags(f *pflag.FlagSet) {
	f.StringVar(&o.acceptRegex, "accept-regex", "", "with -r: only files whose URL matches `REGEX`")
	f.StringVar(&o.rejectRegex, "reject-regex", "", "with -r: no files whose URL matches `REGEX`")
	f.BoolVar(&o.flat, "no-directories", false, "with -r: all files into one directory")
	f.Var(&o.cut, "cut-dirs", "with -r: make the directories of the URL's path, but the first N")
	flags.Detail(f, "cut-dirs", "Without it all those of the URL itself are left out.")
	flags.DurationVar(f, &o.wait, "wait", "", 0, "pause between the starts of files")
	f.StringVar(&o.robots, "robots", "on", "with -r: whether robots.txt is obeyed: on, `off`")
	flags.Detail(f, "robots", "-e robots=off, wget's, is the same as --robots=off.")
}

// depth is a number from 0 on, that may not have been given; inf is 0.
type depth struct {
	n     int
	given bool
}

func (*depth) Type() string { return "N" }
func (d *depth) String() string {
	if !d.given {
		return ""
	}
	return strconv.Itoa(d.n)
}

func (d *depth) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil && text != "inf" {
		return errors.New("it is neither inf nor a number from 0 on")
	}
	*d = depth{int(n), true}
	return nil
}

// filter is the choice of files by the flags.
func (o *treeOptions) filter() (*joblist.Filter, error) {
	f := &joblist.Filter{Accept: o.accept, Reject: o.reject, Level: o.level.n, Flat: o.flat, Cut: o.cut.given, CutDirs: o.cut.n}
	if err := f.Check(); err != nil {
		return nil, exit.Usagef("--accept or --reject: %w", err)
	}
	for _, e := range []struct {
		name, text string
		to         **regexp.Regexp
	}{{"--accept-regex", o.acceptRegex, &f.AcceptRegex}, {"--reject-regex", o.rejectRegex, &f.RejectRegex}} {
		if e.text == "" {
			continue
		}
		var err error
		if *e.to, err = regexp.Compile(e.text); err != nil {
			return nil, exit.Usagef("%s: %w", e.name, err)
		}
	}
	if o.robots != "" && o.robots != "on" && o.robots != "off" {
		return nil, flags.NoSuch("--robots", o.robots, []string{"on", "off"})
	}
	return f, nil
}

// check says what is wrong with these flags where no directories are fetched.
func (o *treeOptions) check(trees bool) error {
	if _, err := o.filter(); err != nil || trees {
		return err
	}
	if len(o.accept)+len(o.reject) > 0 || o.acceptRegex+o.rejectRegex != "" || o.level.given || o.cut.given || o.flat {
		return exit.UsageError{Err: errors.New("--accept, --reject, --level, --cut-dirs and the like need --recursive"), Hint: "-r fetches one"}
	}
	return nil
}

// rules is the robots.txt of a server, that has come or is on its way.
type rules struct {
	at   *url.URL
	done chan struct{} // closed when the rest is set

	robots.Rules
	err  error // the server cannot say
	left int   // files and directories left out; the feeder's
}

// fetchRules fetches the robots.txt of u's server beside everything else; nil: it is not to
// be obeyed.
func (f *feeder) fetchRules(ctx context.Context, u *url.URL) *rules {
	if f.o.tree.robots == "off" {
		return nil
	}
	r := &rules{at: &url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host, Path: "/robots.txt"}, done: make(chan struct{})}
	f.fetching.Go(func() {
		defer close(r.done)
		page, err := f.pages.get(ctx, r.at)
		web, answered := errors.AsType[*fetch.Error](err)
		switch {
		case err == nil:
			r.Rules = robots.Parse(page.text, "mlget")
		case answered && (web.Status/100 == 4 && web.Status != 429 || web.Class == fetch.Protocol):
			// There is none (RFC 9309, 2.3.1.3).
		default:
			r.err = fmt.Errorf("robots.txt cannot be read: %w", err)
		}
	})
	return r
}

// wait waits for the rules.
func (r *rules) wait() error {
	if r == nil {
		return nil
	}
	<-r.done
	return r.err
}

// any says whether something was left out.
func (r *rules) any() bool { return r != nil && r.left > 0 }

// of says whether the rules are those of u's server.
func (r *rules) of(u *url.URL) bool {
	return r == nil || r.at.Scheme == u.Scheme && strings.EqualFold(r.at.Host, u.Host)
}

// allowed is the part of all that robots.txt allows.
func (r *rules) allowed(all []joblist.Found) []joblist.Found {
	if r == nil {
		return all
	}
	var may []joblist.Found
	for _, found := range all {
		if u, err := url.Parse(found.URL); err == nil && r.Allowed(u.EscapedPath()) {
			may = append(may, found)
		} else {
			r.left++
		}
	}
	return may
}

// tell says what was left out.
func (r *rules) tell(warn func(important bool, text string)) {
	if r.any() {
		warn(true, fmt.Sprintf("%s: robots.txt asks to leave %d files or directories alone; --robots=off fetches them", r.at.Host, r.left))
	}
}
