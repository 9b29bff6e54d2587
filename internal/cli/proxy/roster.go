package proxy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/proxy"
	"github.com/mlget/mlget/internal/terms"
)

// When the roster looks at the interfaces again: soon after the first word of a change, as one
// is announced step by step, and once more when all has been quiet.
const (
	settleTime = 100 * time.Millisecond
	quietTime  = 2 * time.Second // where the system tells nothing, between two looks
)

// lister tells of the interfaces as they are now; link.System is one.
type lister interface {
	List(ctx context.Context) ([]link.Info, error)
}

// roster keeps the proxy's links up to date. After watch only its goroutine uses it.
type roster struct {
	options *options
	specs   map[string]link.Spec
	models  energy.Models
	system  lister
	proxy   *proxy.Server
	warn    func(important bool, text string)
	members []link.Info // as they were at the latest look
	paid    []string    // metered links with which the proxy began
}

// join makes an interface a link of the proxy.
func (r *roster) join(info link.Info) {
	l := r.link(info)
	r.proxy.Join(l, termsOf(l, r.models))
	r.members = append(r.members, info)
	r.warn(false, fmt.Sprintf("link %s joins", info.Name))
}

func (r *roster) link(info link.Info) *link.Link {
	spec, _ := link.SpecOf(info, r.specs)
	return link.New(info, spec, link.Options{Family: r.options.family(), ConnectTimeout: r.options.timeout})
}

func costly(radio energy.Radio) bool { return terms.Of(radio).Costly }

// watch keeps the links up to date until stop, which waits for the end.
func (r *roster) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	changes, err := link.Watch(ctx)
	if err != nil { // it looks for itself
		r.warn(false, "changes of the links are noticed late: "+err.Error())
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.follow(ctx, changes)
	}()
	return func() {
		cancel()
		<-done
	}
}

func (r *roster) follow(ctx context.Context, changes <-chan link.Change) {
	soon, quiet := time.NewTimer(0), time.NewTimer(quietTime)
	defer soon.Stop()
	defer quiet.Stop()
	silent := changes == nil
	for {
		select {
		case <-ctx.Done():
			return
		case c, ok := <-changes:
			if !ok { // the system tells no more
				changes, silent = nil, true
				continue
			}
			if c.Gone {
				r.lost(c)
			}
			soon.Reset(settleTime)
			quiet.Reset(quietTime)
		case <-soon.C:
			r.look(ctx, false)
		case <-quiet.C:
			r.look(ctx, true)
			if silent {
				quiet.Reset(quietTime)
			}
		}
	}
}

// lost takes in that an interface has gone, before anything else is known of it: what leads
// over it leads nowhere.
func (r *roster) lost(c link.Change) {
	if c.Kind == link.ChangeLink && named(r.members, c.Name) >= 0 {
		r.leave(c.Name)
	}
}

func (r *roster) leave(name string) {
	r.proxy.Leave(name)
	r.members = slices.DeleteFunc(r.members, func(i link.Info) bool { return i.Name == name })
	r.warn(false, fmt.Sprintf("link %s has gone", name))
}

// look makes the same checks as at the start. A link that has just come and may well not
// work yet joins only when it has been quiet.
func (r *roster) look(ctx context.Context, quiet bool) {
	infos, err := r.system.List(ctx)
	if err != nil {
		return // the next change may be luckier
	}
	infos = link.Apply(infos, r.specs)
	for k := range infos { // a metered link with which the proxy began is used again
		if slices.Contains(r.paid, infos[k].Name) {
			infos[k].Metered = link.MeteredNo
		}
	}
	usable := link.Choosable(infos, r.options.links)
	for _, was := range slices.Clone(r.members) {
		at := named(usable, was.Name)
		if at < 0 {
			r.leave(was.Name)
			continue
		}
		if difference := usable[at].Since(was); difference != link.Same {
			r.proxy.Renew(r.link(usable[at]), difference == link.Moved)
			r.members[named(r.members, was.Name)] = usable[at]
		}
	}
	for _, info := range usable {
		if named(r.members, info.Name) < 0 && (quiet || !info.Doubtful()) {
			r.join(info)
		}
	}
}
