package get

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"time"

	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/fetch"
)

const (
	// maxPage bounds the index of a directory in bytes: some 60,000 files.
	maxPage = 8 << 20
	// pageRounds is how often all links are tried for one page.
	pageRounds = 3
	// pageBackoff is the wait before the second round, in which a link may recover;
	// before the third it is twice as long.
	pageBackoff = 500 * time.Millisecond
	// pagePatience is how long a page may take over one link before the next link is
	// asked as well. Chosen by hand: most pages come within a second.
	pagePatience = 5 * time.Second
	// leastPage is how many bytes of a page have to come within the time-out for silence, or it
	// has stalled. Chosen by hand: less than any link carries, and more than a server sends
	// that only keeps a client waiting.
	leastPage = 4 << 10
)

// pages fetches the indexes of directories, over one link of the run, or the next
// one where that fails. Its get may be called from any goroutine: requests to one
// server share a connection.
type pages struct {
	links   []pageLink
	tries   flags.Tries
	silence time.Duration // how long a body may bring less than leastPage; 0: for ever
}

// pageLink fetches pages over a link of the run. It is a fetch.Trace: pages count as bytes of
// the link, and their connections are not reported.
type pageLink struct {
	client *fetch.Client
	*engine.Link
}

func (pageLink) RoundTrip(net.Conn, time.Duration)                    {}
func (pageLink) ConnOpened(net.Addr, net.Addr, string, time.Duration) {}

// newPages makes one of a run's links, of which backups come last. Close it.
func newPages(cfg *fetch.Config, links []*engine.Link, silence time.Duration, tries flags.Tries) *pages {
	p := &pages{silence: silence, tries: tries}
	for _, backup := range []bool{false, true} {
		for _, l := range links {
			if l.Backup() == backup {
				p.links = append(p.links, pageLink{fetch.NewClient(cfg, l, pageLink{Link: l}), l})
			}
		}
	}
	return p
}

func (p *pages) close() {
	for _, l := range p.links {
		l.client.Close()
	}
}

// webPage is the content at a URL.
type webPage struct {
	at   *url.URL // after redirects
	text []byte
	html bool // its server says so
}

// get fetches the page at u.
func (p *pages) get(ctx context.Context, u *url.URL) (got webPage, err error) {
	rounds, failing := pageRounds, 0
	if p.tries.N > 0 {
		rounds = min(rounds, p.tries.N)
	}
	for round := range rounds {
		if round > 0 && !sleep(ctx, pageBackoff<<(round-1)) {
			return webPage{}, context.Cause(ctx)
		}
		got, err = p.race(ctx, u, &failing)
		if err == nil {
			return got, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return webPage{}, cause
		}
		if !again(err) || p.failed(failing) {
			return webPage{}, err
		}
	}
	return webPage{}, err
}

// failed says whether a page's server has failed as often as it may.
func (p *pages) failed(times int) bool {
	most := p.tries.Errors()
	return most > 0 && times >= most
}

// race asks for the page over one link after the other: over the next one when one has
// failed, whatever the reason, for one link's network may answer for the server; and
// beside it when it takes long. The first page that comes is it. failing counts the answers
// that the server has failed.
func (p *pages) race(ctx context.Context, u *url.URL, failing *int) (got webPage, err error) {
	type answer struct {
		page webPage
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	answers := make(chan answer, len(p.links))
	next := time.NewTimer(0)
	defer next.Stop()
	for asked, failed := 0, 0; failed < len(p.links); {
		select {
		case <-next.C:
			if asked == len(p.links) || p.failed(*failing) {
				continue
			}
			l := p.links[asked]
			asking.Go(func() {
				page, err := p.getOver(ctx, l, u)
				answers <- answer{page, err}
			})
			asked++
			next.Reset(pagePatience)
		case a := <-answers:
			if a.err == nil {
				return a.page, nil
			}
			if err == nil || again(err) || errors.Is(err, engine.ErrCapped) { // else it says more
				err = a.err
			}
			if web, ok := errors.AsType[*fetch.Error](a.err); ok && web.Failing() {
				*failing++
			}
			if failed++; failed == asked && p.failed(*failing) {
				return webPage{}, err
			}
			next.Reset(0)
		}
	}
	return webPage{}, err
}

// again says whether another time may make a difference.
func again(err error) bool {
	var web *fetch.Error
	return errors.As(err, &web) && (web.Temporary() || web.Class == fetch.DNS || errors.Is(err, fetch.ErrStalled))
}

// getOver is get over one link.
func (p *pages) getOver(ctx context.Context, l pageLink, u *url.URL) (webPage, error) {
	if l.Spare() == 0 {
		return webPage{}, engine.ErrCapped
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	resp, err := l.client.Get(ctx, u, 0, -1)
	if err != nil {
		return webPage{}, err
	}
	defer resp.Close() //nolint:errcheck // it was only read
	if resp.Object.Encoding != "" {
		return webPage{}, &fetch.Error{Class: fetch.Protocol, Err: fmt.Errorf("the page is encoded as %s, which was not requested", resp.Object.Encoding)}
	}
	body := io.Reader(&paid{resp, l.Link})
	if p.silence > 0 {
		watch := time.AfterFunc(p.silence, func() { cancel(fetch.ErrStalled) })
		defer watch.Stop()
		body = &watched{Reader: body, watch: watch, after: p.silence}
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(io.LimitReader(body, maxPage+1)); err != nil {
		return webPage{}, err
	}
	if text.Len() > maxPage {
		return webPage{}, &fetch.Error{Class: fetch.Protocol, Err: fmt.Errorf("this is no directory: the page is larger than %d MiB", maxPage>>20)}
	}
	return webPage{resp.EffectiveURL, text.Bytes(), resp.Page}, nil
}

// paid is a reader over a link, as far as the link's allowance of bytes goes.
type paid struct {
	io.Reader
	link *engine.Link
}

func (p *paid) Read(b []byte) (int, error) {
	spare := p.link.Spare()
	if spare == 0 {
		return 0, engine.ErrCapped
	}
	n, err := p.Reader.Read(b[:min(int64(len(b)), spare)])
	p.link.InVain(int64(n))
	return n, err
}

// watched is a reader that puts a timer off whenever leastPage bytes have come.
type watched struct {
	io.Reader
	watch *time.Timer
	after time.Duration
	came  int // bytes since it was put off
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if w.came += n; w.came >= leastPage {
		w.came = 0
		w.watch.Reset(w.after)
	}
	return n, err
}

// sleep waits for d; false: ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
