package get

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/joblist"
	"github.com/mlget/mlget/internal/store"
)

// list is a file of URLs.
type list struct {
	name   string
	in     io.Reader
	closer io.Closer // nil: it is not ours
	reader *joblist.Reader
	known  int         // entries; -1: it is read as it comes
	from   int64       // where it begins in a file whose entries are known
	first  chan listed // the first entry, where that has been asked for before its turn
}

// listed is an entry of a list, checked.
type listed struct {
	entry joblist.Entry
	url   *url.URL
	sum   *engine.Checksum
	err   error
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
	l.from, err = f.Seek(0, io.SeekCurrent)
	if err != nil {
		return l, nil //nolint:nilerr // it is read as it comes
	}
	if l.known, err = l.count(); err == nil {
		err = l.rewind()
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// rewind goes back to the beginning of a list whose entries are known.
func (l *list) rewind() error {
	f, ok := l.in.(*os.File)
	if !ok {
		return nil
	}
	_, err := f.Seek(l.from, io.SeekStart)
	l.reader = joblist.NewReader(f)
	return err
}

// all says whether every URL is such a one; of a list that is read as it comes, whether
// the first one is, for which it waits until ctx ends.
func (l *list) all(ctx context.Context, such func(*url.URL) bool) bool {
	if l.known >= 0 {
		yes := true
		for n := 0; yes && n < l.known; n++ {
			_, u, _, err := l.next()
			yes = err == nil && such(u)
		}
		return l.rewind() == nil && yes
	}
	read, first := make(chan listed, 1), make(chan listed, 1)
	go func() {
		var e listed
		e.entry, e.url, e.sum, e.err = l.read()
		read <- e
	}()
	l.first = first
	select {
	case e := <-read:
		first <- e
		return e.err == nil && such(e.url)
	case <-ctx.Done():
		go func() { first <- <-read }()
		return false
	}
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
	if l.first != nil {
		e := <-l.first
		l.first = nil
		return e.entry, e.url, e.sum, e.err
	}
	return l.read()
}

// read reads the next entry.
func (l *list) read() (joblist.Entry, *url.URL, *engine.Checksum, error) {
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

// isEnd says whether a list is over, rather than wrong.
func isEnd(err error) bool { return errors.Is(err, io.EOF) }
