package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestNamesAreRemembered: an answer is valid for a minute, and replaces one that does not come;
// until no server listens at its addresses, or the name is gone.
func TestNamesAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			s     names
			n     = name{"files.test", FamilyAny}
			one   = []netip.Addr{netip.MustParseAddr("192.0.2.1")}
			two   = []netip.Addr{netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("2001:db8::2")}
			fails = errors.New("server misbehaving")
			asked int
		)
		find := func(addrs []netip.Addr, err error, takes time.Duration) ([]netip.Addr, error) {
			return s.find(t.Context(), n, func(ctx context.Context) ([]netip.Addr, error) {
				asked++
				select {
				case <-time.After(takes):
					return slices.Clone(addrs), err
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			})
		}
		for i, c := range []struct {
			later  time.Duration
			doubts bool
			addrs  []netip.Addr // that a name server knows
			err    error
			takes  time.Duration // for it to answer
			want   []netip.Addr
			asked  int
			within time.Duration
		}{
			{err: fails, takes: 9 * time.Second, asked: 1, within: 9 * time.Second},
			{addrs: one, takes: 9 * time.Second, want: one, asked: 1, within: 9 * time.Second},
			{later: nameFresh - 1, addrs: two, want: one},
			{later: 1, addrs: two, takes: time.Second, want: two, asked: 1, within: time.Second},
			{doubts: true, err: fails, want: two, asked: 1},
			{addrs: one, takes: 9 * time.Second, want: two, asked: 1, within: nameStale},
			{addrs: one, want: one, asked: 1},
			{later: nameFresh, err: &net.DNSError{IsNotFound: true}, asked: 1},
		} {
			time.Sleep(c.later)
			if c.doubts {
				s.doubt(n)
			}
			asked = 0
			began := time.Now()
			got, err := find(c.addrs, c.err, c.takes)
			if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) || asked != c.asked || time.Since(began) != c.within {
				t.Errorf("%d: %v, %v after %v; asked %d times", i, got, err, time.Since(began), asked)
			}
			clear(got) // is the caller's
		}
	})
}

// TestNamesAreAskedForOnce: a query while the same is open waits for its answer, unless that
// takes long, or the first was cancelled.
func TestNamesAreAskedForOnce(t *testing.T) {
	addrs, fails := []netip.Addr{netip.MustParseAddr("192.0.2.1")}, errors.New("server misbehaving")
	for _, c := range []struct {
		takes  time.Duration // for the first to answer; the others answer at once
		cancel time.Duration // of the first; 0: never
		err    error
		asked  int64
		within time.Duration // that the second has to wait
	}{
		{takes: queryStagger / 2, asked: 1, within: queryStagger / 2},
		{takes: queryStagger / 2, err: fails, asked: 1, within: queryStagger / 2},
		{takes: 10 * queryStagger, asked: 2, within: queryStagger},
		{takes: 10 * queryStagger, cancel: queryStagger / 2, asked: 2, within: queryStagger / 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			var (
				s     names
				n     = name{"files.test", FamilyAny}
				asked atomic.Int64
			)
			ask := func(ctx context.Context) ([]netip.Addr, error) {
				if asked.Add(1) == 1 {
					select {
					case <-time.After(c.takes):
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
				return slices.Clone(addrs), c.err
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.cancel > 0 {
				time.AfterFunc(c.cancel, cancel)
			}
			go s.find(ctx, n, ask) //nolint:errcheck // of no interest
			synctest.Wait()
			began := time.Now()
			got, err := s.find(t.Context(), n, ask)
			if !errors.Is(err, c.err) || c.err == nil && !slices.Equal(got, addrs) || asked.Load() != c.asked || time.Since(began) != c.within {
				t.Errorf("%+v: %v, %v after %v; asked %d times", c, got, err, time.Since(began), asked.Load())
			}
			// A waiting query ends when its context does.
			gone, cancelled := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancelled()
			slow := name{"slow.test", FamilyAny}
			wait := func(ctx context.Context) ([]netip.Addr, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			go s.find(ctx, slow, wait) //nolint:errcheck // of no interest
			synctest.Wait()
			if _, err := s.find(gone, slow, wait); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			cancel()
			time.Sleep(10 * queryStagger) // until the first has ended
			synctest.Wait()
			if len(s.asked) > 0 {
				t.Errorf("%d questions are open", len(s.asked))
			}
		})
	}
}

// TestNamesAreBounded: a batch may have thousands of hosts.
func TestNamesAreBounded(t *testing.T) {
	var s names
	for i := range 10 * maxNames {
		_, err := s.find(t.Context(), name{host: fmt.Sprint(i)}, func(context.Context) ([]netip.Addr, error) { return nil, nil })
		if err != nil || len(s.known) > maxNames {
			t.Fatalf("%d names, %v", len(s.known), err)
		}
	}
	s.doubt(name{host: "unknown"})
	if len(s.known) > maxNames || s.known[name{host: "unknown"}].addrs != nil {
		t.Error("who is unknown is remembered")
	}
}
