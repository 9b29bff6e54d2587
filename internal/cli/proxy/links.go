package proxy

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/mlget/mlget/internal/cli/get"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/proxy"
)

// links are those that the flags name, which may change: one set of them follows the other. It
// implements proxy.Spreader.
type links struct {
	server *proxy.Server // set before there is any link
	warn   func(important bool, text string)

	mu     sync.Mutex
	now    *set
	ending sync.WaitGroup // sets whose parts are still on their way
}

// set is the links of one reading of the flags. It implements get.Follower.
type set struct {
	of      *links
	args    []string
	shared  *get.Shared
	parts   *get.Parts
	running sync.WaitGroup // parts that are on their way

	mu    sync.Mutex
	names map[string]bool // of links that can be used
	over  bool            // another set has followed
}

// use makes the links of args, a download's flags, the proxy's, unless they are already. Tunnels of
// links that were there before stay; those of links that are not named any more end. It fails
// where no link can be used, and changes nothing then.
func (l *links) use(ctx context.Context, args []string) error {
	if l.now != nil && slices.Equal(l.now.args, args) {
		return nil
	}
	o, err := get.Parse(args)
	if err != nil {
		return err
	}
	web, err := o.Web()
	if err != nil {
		return err
	}
	next := &set{of: l, args: args, names: make(map[string]bool)}
	if next.shared, err = o.ShareWith(ctx, next, l.warn); err != nil {
		return err
	}
	next.parts = next.shared.Parts(o, web)
	l.mu.Lock()
	last := l.now
	l.now = next
	l.mu.Unlock()
	if last != nil {
		l.end(last, next)
	}
	return nil
}

// end ends a set that another one has followed.
func (l *links) end(last, next *set) {
	last.mu.Lock()
	last.over = true
	last.mu.Unlock()
	next.mu.Lock()
	for _, s := range l.server.Links() {
		if !next.names[s.Name] {
			l.server.Leave(s.Name)
			l.warn(false, "link "+s.Name+" is not used any more")
		}
	}
	next.mu.Unlock()
	l.ending.Go(func() {
		last.running.Wait()
		last.shared.Close()
	})
}

// close lets all links go; nothing is on its way over them any more.
func (l *links) close() {
	l.ending.Wait()
	if l.now != nil {
		l.now.shared.Close()
	}
}

// Use implements get.Follower.
func (s *set) Use(n engine.Network, account *engine.Link, moved bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	s.names[n.Name()] = true
	terms := account.Terms()
	s.of.server.Use(n, proxy.Terms{
		Backup: terms.Backup, Costly: terms.Costly, Bandwidth: terms.Bandwidth, Limiter: account.Limiter(), Account: account,
	}, moved)
}

// Drop implements get.Follower.
func (s *set) Drop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	delete(s.names, name)
	s.of.server.Leave(name)
	s.of.warn(false, "link "+name+" has gone")
}

// CanSpread implements proxy.Spreader.
func (*links) CanSpread(answer http.Header, size int64) bool { return get.IsProven(answer, size) }

// Spread implements proxy.Spreader. A part keeps the links with which it began.
func (l *links) Spread(ctx context.Context, p *proxy.Part, w io.Writer) error {
	l.mu.Lock()
	s := l.now
	s.running.Add(1)
	l.mu.Unlock()
	defer s.running.Done()
	return s.parts.Write(ctx, (*get.Part)(p), w, l.server)
}
