package get

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/plan"
	"github.com/mlget/mlget/internal/term"
	"github.com/mlget/mlget/pkg/scheduler"
)

// When the roster looks at the interfaces again. A link that comes is announced
// step by step (device, carrier, address, route), and what a DHCP client writes
// down about name servers is not announced at all: hence a look soon after the
// first word, and one more when all has been quiet.
const (
	settleTime = 100 * time.Millisecond // from the first word to the first look
	lookPause  = 500 * time.Millisecond // between two looks at least, whatever flaps
	quietTime  = 2 * time.Second        // from the last word to the last look; where the system tells nothing, between looks
)

// spareForAuto is how many unnamed links may join with --links auto: a phone or a laptop gets
// one or two.
const spareForAuto = 4

// lister lists the present interfaces; link.System is one.
type lister interface {
	List(ctx context.Context) ([]link.Info, error)
}

// seat is a link of the run as the engines have it; *engine.Link is one.
type seat interface {
	Join(n engine.Network, terms engine.Terms)
	Renew(n engine.Network, moved bool)
	Returned()
	// Gone says that the interface has gone: what leads over it leads nowhere.
	Gone()
	plan.Meter
}

// engineSeat is a link whose engine finds out by its connections that it has gone.
type engineSeat struct{ *engine.Link }

// Gone implements seat.
func (engineSeat) Gone() {}

// seats are the places of links; spare ones come last.
func seats(links []*engine.Link) []seat {
	list := make([]seat, 0, len(links))
	for _, l := range links {
		list = append(list, engineSeat{l})
	}
	return list
}

// member is a link of the run, as the roster knows it.
type member struct {
	seen    link.Info // when it was last usable
	away    bool      // it was not usable since
	metered bool      // it was when it was chosen
	barred  error     // why it is not used now, though it could be; nil: it is
	own     string    // the name of a link through a proxy or by a gateway; empty: it is the interface itself
}

// roster keeps the run's links up to date: links that return, links with a new address or
// device, and links that appear after the start. It runs in one goroutine, follow's.
type roster struct {
	options *Options
	plans   *plans
	gates   *gateways
	system  lister
	bus     *event.Bus
	started time.Time
	warn    func(important bool, text string)
	seats   []seat   // of members, and spare ones behind them
	members []member // read it when watch has been stopped
	models  energy.Models
	full    bool // a link was left out for want of a seat
}

// spares is how many links may join a run that begins with these.
func (o *Options) spares(begun []chosen, specs map[string]link.Spec) int {
	n := 0
	for i, name := range o.links {
		there := slices.ContainsFunc(begun, func(c chosen) bool { return c.found.Name == name || c.info.Name == name })
		if !link.IsGroup(name) && !there && !slices.Contains(o.links[:i], name) {
			n += max(1, len(gatewaysOf(name, specs)))
		}
	}
	if o.automatic() {
		n += spareForAuto
	}
	return n
}

// automatic says whether links may be used without being named.
func (o *Options) automatic() bool {
	return len(o.links) == 0 || slices.ContainsFunc(o.links, link.IsGroup)
}

// members are the links with which a run begins.
func members(begun []chosen) []member {
	list := make([]member, 0, len(begun))
	for _, c := range begun {
		m := member{seen: c.found, metered: c.found.Metered != link.MeteredNo}
		if c.own {
			m.own = c.described
		}
		list = append(list, m)
	}
	return list
}

// watch starts to keep the links up to date. stop ends that and waits for the
// end.
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

// follow takes in changes until ctx ends. Where there are none to be had, it
// looks now and then.
func (r *roster) follow(ctx context.Context, changes <-chan link.Change) {
	soon, quiet := time.NewTimer(0), time.NewTimer(quietTime) // something may have changed before the watch began
	defer soon.Stop()
	defer quiet.Stop()
	soon.Stop()
	due := false // soon is running
	var looked time.Time
	silent := changes == nil
	phase := r.plans.phase()
	var clock <-chan time.Time
	if phase != "" {
		ticker := time.NewTicker(clockEvery)
		defer ticker.Stop()
		clock = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case c, ok := <-changes:
			if !ok { // the system tells no more
				changes, silent = nil, true
				continue
			}
			if !r.concerned(c.Name) {
				continue
			}
			r.hint(c)
			quiet.Reset(quietTime)
			if !due {
				due = true
				soon.Reset(max(settleTime, lookPause-time.Since(looked)))
			}
		case <-clock:
			if now := r.plans.phase(); now != phase {
				phase = now
				r.look(ctx, true)
			}
		case <-soon.C:
			due = false
			r.look(ctx, false)
			looked = time.Now()
		case <-quiet.C:
			r.look(ctx, true)
			looked = time.Now()
			if silent {
				quiet.Reset(quietTime)
			}
		}
	}
}

// concerned says whether an interface can be one of the run; "" may be any.
func (r *roster) concerned(name string) bool {
	return name == "" || r.options.automatic() || slices.Contains(r.options.links, name)
}

// hint takes in that something is new about an interface. A link that has got
// something is tried at once; one that has lost something may, by the next look,
// have got it back.
func (r *roster) hint(c link.Change) {
	for i := range r.members {
		switch m := &r.members[i]; {
		case c.Name != "" && c.Name != m.seen.Name:
		case c.Gone:
			m.away = true
			if c.Kind == link.ChangeLink {
				r.seats[i].Gone()
			}
		default:
			r.seats[i].Returned()
		}
	}
}

// look makes the same checks as at the start, and lets the engine know what came
// of them. A link that has just come and may well not work yet joins only when
// it has been quiet.
func (r *roster) look(ctx context.Context, quiet bool) {
	infos, err := r.system.List(ctx)
	if err != nil {
		return // the next change may be luckier
	}
	infos = link.Apply(infos, r.plans.specs)
	r.plans.refuse(infos)
	for k := range infos { // a metered link with which the run began goes on
		if slices.ContainsFunc(r.members, func(m member) bool { return m.seen.Name == infos[k].Name && m.metered }) {
			infos[k].Metered = link.MeteredNo
		}
	}
	usable := link.Choosable(infos, r.options.links)
	for i := range r.members {
		m := &r.members[i]
		at := slices.IndexFunc(usable, func(info link.Info) bool { return info.Name == m.seen.Name })
		now, ok := link.Info{}, at >= 0 && !r.plans.outside(r.spec(m))
		if ok {
			now, ok = r.over(m, usable[at])
		}
		if !ok {
			r.leave(i, infos)
			continue
		}
		difference := now.Since(m.seen)
		if errors.Is(m.barred, link.ErrWindow) {
			r.warn(true, fmt.Sprintf("link %s is used again: its hours, %s, have begun", r.name(m), r.spec(m).Window))
		}
		if m.away || m.barred != nil || difference != link.Same {
			r.seats[i].Renew(r.options.link(now, r.plans.specs, m.own), difference == link.Moved)
		}
		m.seen, m.away, m.barred = now, false, nil
	}
	for _, info := range usable {
		known := slices.ContainsFunc(r.members, func(m member) bool { return m.seen.Name == info.Name })
		if !known && (quiet || !info.Doubtful()) {
			r.joinAll(info)
		}
	}
}

// joinAll makes an interface a link of the run, or several, each by its gateway.
func (r *roster) joinAll(info link.Info) {
	keys := gatewaysOf(info.Name, r.plans.specs)
	for _, key := range keys {
		if over, why := r.gates.over(key, info, r.plans); why == "" {
			r.join(over, key)
		}
	}
	if len(keys) == 0 {
		r.join(info, "")
	}
}

// spec is a link's description by the flags.
func (r *roster) spec(m *member) link.Spec {
	if m.own != "" {
		return r.plans.specs[m.own]
	}
	spec, _ := link.SpecOf(m.seen, r.plans.specs)
	return spec
}

// over is a link of the run over its interface as it is now, by its gateway, if it has one.
func (r *roster) over(m *member, info link.Info) (link.Info, bool) {
	if !r.spec(m).Via.IsValid() {
		return info, true
	}
	over, why := r.gates.over(m.own, info, r.plans)
	return over, why == ""
}

// name is a link's, for people.
func (r *roster) name(m *member) string {
	if m.own != "" {
		return term.Printable(m.own)
	}
	return term.Printable(m.seen.Name)
}

// leave takes in that a link cannot be used now. One that works carries nothing from then
// on where its hours are over, or where it has become metered, as when a laptop goes from the
// Wi-Fi at home to that of a phone.
func (r *roster) leave(i int, infos []link.Info) {
	m := &r.members[i]
	m.away = true
	at := slices.IndexFunc(infos, func(info link.Info) bool { return info.Name == m.seen.Name })
	why, text := link.ErrMetered, ""
	switch spec := r.spec(m); {
	case m.barred != nil:
		return
	case r.plans.outside(spec):
		why, text = link.ErrWindow, fmt.Sprintf("its hours, %s, are over", spec.Window)
	case at < 0 || infos[at].Metered == link.MeteredNo:
		r.seats[i].Gone()
		return
	default:
		text = fmt.Sprintf("data over it may cost money now (%s); --links all uses it all the same", infos[at].Metered)
	}
	m.barred = why
	r.warn(true, fmt.Sprintf("link %s is not used any more: %s", r.name(m), text))
	r.seats[i].Renew(r.options.link(m.seen, r.plans.specs, m.own).Barred(why), true)
}

// join makes an interface a link of the run; own is the name of one of its own.
func (r *roster) join(info link.Info, own string) {
	l := r.options.link(info, r.plans.specs, own)
	name := term.Printable(l.Name())
	i := len(r.members)
	if i == len(r.seats) {
		if !r.full {
			r.full = true
			r.warn(false, fmt.Sprintf("link %s is not used: too many have joined", name))
		}
		return
	}
	r.bus.Publish(event.LinkJoined{
		At: scheduler.Time(time.Since(r.started)), Link: scheduler.LinkID(i), Info: eventInfo(l),
	})
	r.warn(true, fmt.Sprintf("link %s has joined", name))
	r.members = append(r.members, member{seen: info, metered: info.Metered != link.MeteredNo, own: own})
	terms := termsOf(l, r.models)
	_, described := link.SpecOf(info, r.plans.specs)
	if own != "" {
		described = own
	}
	k := r.plans.terms(described, l.Spec(), &terms)
	r.seats[i].Join(l, terms)
	r.plans.keep(k, l.Name(), r.seats[i])
}
