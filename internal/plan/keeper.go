package plan

import (
	"context"
	"time"
)

// Meter is a link as a Keeper needs it.
type Meter interface {
	// Traffic is how many bytes have crossed the link since the run began.
	Traffic() int64
	// Allow says how many bytes may cross it in all, as Traffic counts them, and how many
	// more may be allowed later.
	Allow(most, later int64)
	// Low says that little is left of what was allowed.
	Low() <-chan struct{}
}

const (
	// keepEvery is how often traffic is looked at: what headers add in between is not
	// bounded. Chosen by hand.
	keepEvery = 250 * time.Millisecond
	// learnEvery is how often a program for which nothing is left looks whether others
	// have given something back. Chosen by hand.
	learnEvery = 10 * time.Second
	// A lease lasts for leaseTime at the rate of the one before, within the bounds. A
	// killed program's rest of it counts as used. Chosen by hand.
	leaseTime            = 2 * time.Second
	smallLease, bigLease = int64(1) << 20, int64(64) << 20
)

// Keeper keeps the use of one link's plan during a run.
type Keeper struct {
	book *Book
	link string // as --link names it
	plan Plan

	lease   Lease
	left    int64 // beyond the lease, when it was last renewed
	want    int64 // of the next lease
	got     int64 // of this lease, when it was renewed
	used    int64 // of the Meter's traffic, those taken off the lease
	since   int64 // used when the lease was renewed
	renewed time.Time
	troub   error     // why the book could not be kept, when last tried; nil: it was
	kept    time.Time // when it last was
	asked   time.Time // when the book was last asked whether others have given something back
}

// Keep begins to keep a link's plan: the first lease is booked. Spent says whether there was
// nothing left to book. A Keeper is closed with Close.
func (b *Book) Keep(link string, p Plan) (*Keeper, error) {
	k := &Keeper{book: b, link: link, plan: p, want: smallLease}
	if err := k.renew(); err != nil {
		return nil, err
	}
	return k, nil
}

// Spent says whether nothing is left of the plan.
func (k *Keeper) Spent() bool { return k.lease.Rest <= 0 && k.left <= 0 }

// Left is how many bytes are left of the plan, those that are booked already included.
func (k *Keeper) Left() int64 { return max(0, k.lease.Rest) + k.left }

// renew settles the lease and books another one.
func (k *Keeper) renew() error {
	now := time.Now()
	left, err := k.book.Renew(k.link, k.plan, &k.lease, k.want)
	if err == nil {
		if took := now.Sub(k.renewed); !k.renewed.IsZero() && took > 0 {
			perLease := float64(k.used-k.since) * float64(leaseTime) / float64(took)
			k.want = min(max(int64(perLease), smallLease), bigLease)
		}
		k.left, k.got, k.renewed, k.kept, k.since = left, k.lease.Rest, now, now, k.used
	}
	k.troub = err
	return err
}

// Run keeps the plan while a link is used, until ctx ends. What goes wrong is told to warn.
func (k *Keeper) Run(ctx context.Context, m Meter, warn func(error)) {
	tick := time.NewTicker(keepEvery)
	defer tick.Stop()
	for {
		k.look(m, warn)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-m.Low():
		}
	}
}

// look takes what has crossed the link off the lease, and renews that when it is time to.
func (k *Keeper) look(m Meter, warn func(error)) {
	k.take(m)
	if k.due() {
		trouble := k.troub
		if err := k.renew(); err != nil && trouble == nil {
			warn(err)
		}
	}
	later := k.left
	if k.troub != nil && time.Since(k.kept) > learnEvery {
		later = 0 // it cannot be known
	}
	m.Allow(k.used+max(0, k.lease.Rest), later)
}

// take takes what has crossed the link off the lease.
func (k *Keeper) take(m Meter) {
	used := m.Traffic()
	k.lease.Rest -= used - k.used
	k.used = used
}

// due says whether to renew the lease.
func (k *Keeper) due() bool {
	switch {
	case k.book.Today() != k.lease.day: // it may be the first of another period
		return true
	case k.lease.Rest < 0:
		return true
	case k.Spent():
		if time.Since(k.asked) < learnEvery {
			return false
		}
		k.asked = time.Now()
		left, err := k.book.Left(k.link, k.plan)
		return err == nil && left > 0
	}
	return k.lease.Rest < k.got/2
}

// Close gives back what was not used. m is nil where nothing was.
func (k *Keeper) Close(m Meter) error {
	if m != nil {
		k.take(m)
	}
	k.want = 0
	return k.renew()
}
