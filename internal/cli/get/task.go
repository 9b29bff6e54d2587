package get

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/joblist"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/store"
)

// task is what a run is to download: one object, or several.
type task struct {
	one   *engine.Job // nil: several
	urls  []*url.URL  // of the command line
	list  *list       // nil: there is none
	trees bool        // each URL is a directory's
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

// here says whether all URLs are known and name this machine itself.
func (t *task) here() bool {
	if t.one != nil {
		return namesLoopback(t.one.URL.Hostname())
	}
	return t.list == nil && !slices.ContainsFunc(t.urls, func(u *url.URL) bool { return !namesLoopback(u.Hostname()) })
}

// namesLoopback says whether a URL's host is this machine whatever a name server
// says (RFC 6761, section 6.3).
func namesLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return strings.EqualFold(strings.TrimSuffix(host, "."), "localhost")
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
	for i, text := range args {
		u, err := flags.ParseURL(text)
		if err != nil && len(args) > 1 {
			return nil, exit.Usagef("URL %d: %w", i+1, err)
		}
		if err != nil {
			return nil, err
		}
		t.urls = append(t.urls, u)
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
	if err := o.choice(t, stdio); err != nil {
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
		return exit.Usagef("only one of --output -, --json, --report - and --record - can have standard output; --report FILE and --record FILE go elsewhere")
	case o.served && (o.output != "" || o.resume || t.trees):
		return exit.Usagef("--content-disposition lets the server name the file: not with --output, --continue or --recursive")
	case o.output == "" && o.checksum == "" && (t.trees || t.list != nil || len(t.urls) > 1):
		return nil // several
	case t.trees:
		return exit.Usagef("--output and --checksum are for one URL, not for a directory")
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
	for _, wants := range []bool{o.output == "-", o.json || o.reportFile == "-", o.recordFile == "-"} {
		if wants {
			n++
		}
	}
	return n
}

// only is the one URL that there is.
func (o *Options) only(t *task) (*url.URL, *engine.Checksum, error) {
	several := exit.UsageError{
		Err:  errors.New("--output and --checksum are for one URL, not for several"),
		Hint: "out= and checksum= in a list (-i) are for one of its URLs; -P DIR saves in a directory",
	}
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
		return nil, nil, exit.Usagef("%s has a name for its file already", o.inputFile)
	}
	if _, _, _, err := t.list.next(); !errors.Is(err, io.EOF) {
		return nil, nil, several
	}
	return u, sum, nil
}

// list is a file of URLs.
type list struct {
	name   string
	in     io.Reader
	closer io.Closer // nil: it is not ours
	reader *joblist.Reader
	known  int // entries; -1: it is read as it comes
}

// openList opens the list that the flags name. A file is read once to see whether
// all of it can be understood, before anything is fetched; what comes through a
// pipe is understood as it comes.
func (o *Options) openList(ctx context.Context, stdin io.Reader) (*list, error) {
	l := &list{name: o.inputFile, in: stdin, known: -1}
	if o.inputFile != "-" {
		f, err := store.OpenWaiting(ctx, o.inputFile, os.O_RDONLY)
		if err != nil {
			return nil, exit.FileError{Err: fmt.Errorf("--input-file: %w", err)}
		}
		l.in, l.closer = f, f
	} else {
		l.name = "standard input"
	}
	l.reader = joblist.NewReader(l.in)
	f, ok := l.in.(*os.File)
	if !ok {
		return l, nil
	}
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return l, nil //nolint:nilerr // reading it will tell
	}
	from, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return l, nil //nolint:nilerr // it is read as it comes
	}
	if l.known, err = l.count(); err == nil {
		_, err = f.Seek(from, io.SeekStart)
		l.reader = joblist.NewReader(f)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// count reads all of the list.
func (l *list) count() (n int, err error) {
	for ; ; n++ {
		if _, _, _, err := l.next(); errors.Is(err, io.EOF) {
			return n, nil
		} else if err != nil {
			return n, err
		}
	}
}

// next is the next entry of the list, checked.
func (l *list) next() (joblist.Entry, *url.URL, *engine.Checksum, error) {
	e, err := l.reader.Next()
	var bad *joblist.Error
	switch {
	case errors.As(err, &bad):
		return e, nil, nil, exit.Usagef("%s, line %d: %w", l.name, bad.Line, bad.Err)
	case errors.Is(err, io.EOF):
		return e, nil, nil, err
	case err != nil:
		return e, nil, nil, exit.FileError{Err: fmt.Errorf("--input-file: %w", err)}
	}
	u, err := flags.ParseURL(e.URL)
	if err != nil {
		return e, nil, nil, entryError{exit.Usagef("%s, line %d: %w", l.name, e.Line, err)}
	}
	if e.Checksum == "" {
		return e, u, nil, nil
	}
	sum, err := engine.ParseChecksum(e.Checksum)
	if err != nil {
		return e, nil, nil, entryError{exit.Usagef("%s, line %d: checksum=: %w", l.name, e.Line, err)}
	}
	return e, u, sum, nil
}

// entryError is a mistake in one entry of a list: those behind it can be read.
type entryError struct{ error }

func (e entryError) Unwrap() error { return e.error }

func (l *list) close() {
	if l.closer != nil {
		_ = l.closer.Close() // it was only read
	}
}

// ahead is how many entries are still to come, as far as can be told, when so many
// were read.
func (l *list) ahead(entries int) int64 {
	if l.known >= 0 {
		return int64(l.known - entries)
	}
	return 0
}

// fileID is a file's number as events have it; there are not that many files.
func fileID(n int) event.FileID { return event.FileID(n) }
