package get

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/link"
)

// task is the set of objects that a run downloads.
type task struct {
	one   *engine.Job // nil: several
	urls  []*url.URL  // of the command line
	names []string    // of their files, by -o; nil: the URLs'
	list  *list       // nil: there is none
	trees bool        // each URL is a directory's
	print io.Writer   // takes all objects, one behind the other; nil: they are saved
}

// files is how many there are; 0: that is not known yet.
func (t *task) files() int {
	switch {
	case t.one != nil:
		return 1
	case t.trees, t.list != nil && t.list.known < 0:
		return 0
	case t.list != nil:
		return len(t.urls) + t.list.known
	}
	return len(t.urls)
}

// here says whether all URLs name this machine itself, or go through a proxy on it, or to
// places on it. The first URL decides for a list that comes through a pipe.
func (t *task) here(ctx context.Context, ask fetch.Proxies, places *fetch.Addresses) bool {
	local := func(u *url.URL) bool {
		if p, err := ask.For(u); err == nil && p != nil {
			return namesLoopback(p.Hostname())
		}
		return !slices.ContainsFunc(places.For(u), func(host string) bool { return !namesLoopback(host) })
	}
	switch {
	case t.one != nil:
		return local(t.one.URL)
	case slices.ContainsFunc(t.urls, func(u *url.URL) bool { return !local(u) }):
		return false
	}
	return t.list == nil || t.list.all(ctx, local)
}

// namesLoopback says whether a URL's host is this machine whatever a name server
// says (RFC 6761, section 6.3).
func namesLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		host = strings.ToLower(strings.TrimSuffix(host, "."))
		return host == "localhost" || strings.HasSuffix(host, ".localhost")
	}
	return link.IsHere(addr)
}

func (t *task) close() {
	if t.list != nil {
		t.list.close()
	}
}

// task finds out what there is to do. It closes what it opened if it fails.
func (o *Options) task(ctx context.Context, args []string, stdio console.IO) (*task, error) {
	t := &task{trees: o.recursive}
	if err := o.expand(t, args); err != nil {
		return nil, err
	}
	if o.inputFile != "" {
		var err error
		if t.list, err = o.openList(ctx, stdio.In); err != nil {
			return nil, err
		}
		if t.files() == 0 && t.list.known == 0 && len(t.urls) == 0 {
			t.close()
			return nil, exit.Usagef("%s names no URL", o.inputFile)
		}
	}
	if err := cmp.Or(o.choice(t, stdio), o.tree.check(t.trees)); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// choice decides whether it is one object or several.
func (o *Options) choice(t *task, stdio console.IO) error {
	switch {
	case t.list == nil && len(t.urls) == 0 && o.output != "":
		return exit.UsageError{Err: errors.New("no URL"), Hint: "-o and -O take the name of a file; without them it is named as its URL"}
	case t.list == nil && len(t.urls) == 0:
		return exit.UsageError{Err: errors.New("no URL"), Hint: "mlget --help lists what there is"}
	case o.wantOutput() > 1:
		return exit.Usagef("only one of --output -, --json, --report -, --record -, --dump-header - and --head can use standard output; --report FILE and --record FILE write to files")
	case o.probes() && o.request.alone():
		return exit.Usagef("--head and --spider cannot be combined with data or another method")
	case o.probes() && (t.trees || o.output != "" || o.checksum != "" || o.resume):
		return exit.Usagef("--head and --spider save nothing: not with --output, --continue, --checksum or --recursive")
	case o.served && (o.output != "" || o.resume || t.trees):
		return exit.Usagef("--content-disposition lets the server name the file: not with --output, --continue or --recursive")
	case o.output == "" && o.checksum == "" && (t.trees || t.list != nil || len(t.urls) > 1):
		return nil // several
	case o.output == "" && o.checksum == "" && t.list == nil && !o.request.alone() && o.conditions.compares(o.target(), t.urls[0]):
		return nil
	case t.trees:
		return exit.Usagef("--output and --checksum are for one URL, not for a directory")
	case o.output == "-" && o.checksum == "" && (len(t.urls) > 1 || t.list != nil):
		t.print = stdio.Out
		return nil
	}
	u, sum, err := o.only(t)
	if err != nil {
		return err
	}
	if o.checksum != "" {
		if sum, err = engine.ParseChecksum(asChecksum(o.checksum)); err != nil {
			return exit.Usagef("--checksum: %w", err)
		}
	}
	t.one = &engine.Job{
		URL: u, Checksum: sum,
		Target: o.target(),
	}
	if o.output == "-" {
		t.one.Stdout = stdio.Out
	}
	return nil
}

// wantOutput is how many flags want standard output for something that cannot share
// it.
func (o *Options) wantOutput() (n int) {
	for _, wants := range []bool{o.output == "-", o.json || o.reportFile == "-", o.recordFile == "-", o.dumpHeader == "-", o.head} {
		if wants {
			n++
		}
	}
	return n
}

// only is the run's only URL.
func (o *Options) only(t *task) (*url.URL, *engine.Checksum, error) {
	several := errOutputs()
	switch {
	case len(t.urls) > 1, len(t.urls) == 1 && t.list != nil:
		return nil, nil, several
	case len(t.urls) == 1:
		return t.urls[0], nil, nil
	}
	e, u, sum, err := t.list.next()
	if errors.Is(err, io.EOF) {
		return nil, nil, exit.Usagef("%s names no URL", o.inputFile)
	}
	if err != nil {
		return nil, nil, err
	}
	if e.Out != "" || e.Dir != "" {
		return nil, nil, exit.Usagef("%s: the list names the file already", o.inputFile)
	}
	if _, _, _, err := t.list.next(); !errors.Is(err, io.EOF) {
		return nil, nil, several
	}
	return u, sum, nil
}
