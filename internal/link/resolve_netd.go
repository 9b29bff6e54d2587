package link

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/mlget/mlget/internal/android"
)

// askingAndroid makes a resolver that asks Android for the link's network. A process that may
// not use the network (any more) would silently get another network's answer; hence the check
// before each query.
func (l *Link) askingAndroid(socket string) *net.Resolver {
	n := *l.info.Android
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		if err := l.mayAsk(ctx); err != nil {
			return nil, err
		}
		conn, err := android.DialResolver(ctx, socket, n.NetID)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // fails when it is closed
		return &androidQuery{Conn: conn, link: l}, nil
	}}
}

// askAndroid9 asks in the way that Android 8 and 9 know, too.
func (l *Link) askAndroid9(ctx context.Context, socket, host string, family Family) ([]netip.Addr, error) {
	if err := l.mayAsk(ctx); err != nil {
		return nil, err
	}
	return android.Lookup(ctx, socket, l.info.Android.NetID, host, int(family))
}

// mayAsk says whether this process may use the link's network now. Root without
// netd may use every network.
func (l *Link) mayAsk(ctx context.Context) error {
	if l.info.Bind != BindNetwork {
		return nil
	}
	return probeNetwork(ctx, *l.info.Android)
}

// androidQuery takes note of a resolver that takes no queries, and of one that says
// why there is no answer: the net package does not pass on which error a connection
// had.
type androidQuery struct {
	net.Conn
	link *Link
}

func (q *androidQuery) Read(b []byte) (int, error) {
	n, err := q.Conn.Read(b)
	if errors.Is(err, android.ErrNoQueries) {
		q.link.noQueries.Store(true)
	}
	q.link.noAnswer.Store(asNoAnswer(err))
	return n, err
}

func asNoAnswer(err error) *android.NoAnswer {
	e, _ := errors.AsType[*android.NoAnswer](err)
	return e
}

// final turns err, from asking Android, into an error for which asking again is useless: a name
// that cannot be resolved, and why.
func (l *Link) final(host string, err error) error {
	e := l.noAnswer.Load()
	if err == nil || e == nil || e.Temporary() {
		return err
	}
	return &net.DNSError{Err: e.Error(), Name: host, IsNotFound: true}
}
