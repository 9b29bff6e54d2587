package get

import (
	"context"

	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/link"
)

// Follower receives the changes of a Shared's links. Its methods are called one at a time.
type Follower interface {
	// Use says that a link can be used from now on, and is dialled by n. moved says that
	// connections made before lead nowhere any more. account is where its bytes are counted.
	Use(n engine.Network, account *engine.Link, moved bool)
	// Drop says that the link of that name cannot be used any more.
	Drop(name string)
}

// ShareWith is Share for a program that makes connections of its own over the links, too. It
// fails where there is no link at the start.
func (o *Options) ShareWith(ctx context.Context, f Follower, warn func(important bool, text string)) (*Shared, error) {
	return o.share(ctx, false, false, f, warn)
}

// announced is a link's place, with whether its followers know it as usable.
type announced struct {
	*engine.Link
	came     chan<- struct{}
	follower Follower // nil: the links are used by this run alone
}

// Join implements seat.
func (a announced) Join(n engine.Network, terms engine.Terms) {
	a.Link.Join(n, terms)
	a.use(n, false)
	a.tell()
}

// Renew implements seat.
func (a announced) Renew(n engine.Network, moved bool) {
	a.Link.Renew(n, moved)
	a.use(n, moved)
	a.tell()
}

// Gone implements seat.
func (a announced) Gone() {
	if a.follower != nil {
		a.follower.Drop(a.Name())
	}
}

// use tells the follower.
func (a announced) use(n engine.Network, moved bool) {
	if a.follower == nil {
		return
	}
	if l, ok := n.(*link.Link); ok && l.IsBarred() {
		a.follower.Drop(n.Name())
		return
	}
	a.follower.Use(n, a.Link, moved)
}

func (a announced) tell() {
	select {
	case a.came <- struct{}{}:
	default: // it has not been heard yet
	}
}
