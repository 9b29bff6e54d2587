package engine

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
)

// silent is a trace of connections that nobody is interested in.
type silent struct{}

func (silent) RoundTrip(net.Conn, time.Duration)                    {}
func (silent) ConnOpened(net.Addr, net.Addr, string, time.Duration) {}
func (silent) InVain(int64)                                         {}
func (silent) Spare() int64                                         { return math.MaxInt64 }
func (silent) Read()                                                {}

// What is taken from a range is not sent over HTTP/2, whether that happens before its
// response has come or after: the server has not been allowed it yet.
func TestWhatIsTakenOverIsNotSent(t *testing.T) {
	const wanted = 4 * mib
	for name, early := range map[string]bool{"before the response": true, "after it": false} {
		t.Run(name, func(t *testing.T) {
			o := newObject(16 * mib)
			done := make(chan struct{})
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				o.ServeHTTP(w, r)
				close(done)
			}))
			u, err := url.Parse(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			c := fetch.NewClient(&fetch.Config{Protocol: fetch.HTTP2PriorKnowledge}, &net.Dialer{}, silent{})
			defer c.Close()
			resp, err := c.Get(t.Context(), u, 0, o.body.Size)
			if err != nil {
				t.Fatal(err)
			}
			var tr transfer
			tr.end.Store(o.body.Size)
			if early {
				tr.shorten(wanted)
				tr.noteResponse(resp)
			} else {
				tr.noteResponse(resp)
				tr.shorten(wanted)
			}
			if n, err := io.CopyN(io.Discard, resp, wanted); err != nil {
				t.Fatalf("%d bytes, %v", n, err)
			}
			resp.Discard(0)
			<-done
			if n := o.sent.Load(); n > wanted+128<<10 {
				t.Errorf("%d bytes were sent of which %d are wanted", n, int64(wanted))
			}
		})
	}
}

// nowhere takes what is received, and keeps nothing of it.
type nowhere struct{ sink }

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (nowhere) stream() *streamSink                    { return nil }

// A request that is spent takes its connection with it when it has been cut short, which
// lasts otherwise over HTTP/2.
func TestASpentRequestTakesItsConnection(t *testing.T) {
	for _, spent := range []bool{false, true} {
		t.Run(fmt.Sprint(spent), timeless(func(t *bubble) {
			o := newObject(mib)
			l := &testLink{name: "a"}
			r := newRig(t, l)
			r.cfg.HTTP.Protocol = fetch.HTTP2PriorKnowledge
			e := r.engine()
			defer e.Close()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			c := e.routes[0].client(0)
			u := at(t, serve(t, o), "", "/f")
			tr := &transfer{request: request{url: u}, exchange: exchange{client: c, turn: c.Turn(u), to: nowhere{}, cancel: cancel, waker: newWaker()}}
			tr.end.Store(o.body.Size)
			tell := make(chan message)
			go e.run(ctx, tr, tell)
			m := <-tell
			tr.noteResponse(m.resp)
			tr.shorten(1000)
			tr.lastOfConn.Store(spent)
			m.answer <- true
			if m = <-tell; m.err != nil || tr.got.Load() != 1000 {
				t.Errorf("%d bytes, %v", tr.got.Load(), m.err)
			}
			want := 1
			if spent {
				want = 0
			}
			if n := l.open(); n != want {
				t.Errorf("%d connections are open", n)
			}
		}))
	}
}

// What was read off a connection for nobody counts as received and wasted, also where no
// request over it brings anything.
func TestWhatCameInVainCounts(t *testing.T) {
	for name, refuses := range map[string]bool{"more follows": false, "nothing does": true} {
		t.Run(name, timeless(func(t *bubble) {
			const vain = 1000
			o := newObject(mib)
			links := []*testLink{{name: "a"}}
			if refuses { // all but the first request over another link
				odd := newObject(mib)
				odd.gate = func(w http.ResponseWriter, _ *http.Request, n int64) bool {
					if n > 1 {
						w.WriteHeader(http.StatusForbidden)
					}
					return n > 1
				}
				links = append(links, &testLink{name: "b", to: serve(t, odd).Listener.Addr().String()})
			}
			r := newRig(t, links...)
			u := at(t, serve(t, o), "", "/f")
			e := r.engine()
			resp, err := e.routes[len(links)-1].client(0).Get(t.Context(), u, 0, vain)
			if err != nil {
				t.Fatal(err)
			}
			if n := resp.Discard(vain); n != vain {
				t.Fatalf("%d bytes were dropped", n)
			}
			got := &outcome{t: t}
			got.res, got.err = e.Download(t.Context(), r.job(u))
			e.Close()
			got.events = r.drain()
			got.check()
			received, wasted := int64(0), int64(0)
			for _, e := range of[event.RequestEnded](got) {
				received, wasted = received+e.Bytes, wasted+e.Wasted
			}
			if received != o.body.Size+vain || wasted != vain {
				t.Errorf("%d bytes received, %d of them wasted; want %d and %d", received, wasted, o.body.Size+vain, vain)
			}
		}))
	}
}

// The scheduler is told which connections outlive a request that is cut short.
func TestTheSchedulerKnowsWhichConnectionsLast(t *testing.T) {
	for _, proto := range []fetch.HTTPVersion{fetch.HTTP1, fetch.HTTP2PriorKnowledge} {
		t.Run(fmt.Sprint(proto), timeless(func(t *bubble) {
			o := newObject(mib)
			r := newRig(t)
			r.cfg.Record = true
			r.cfg.HTTP.Protocol = proto
			got := r.get(at(t, serve(t, o), "", "/f"))
			got.right(o.body)
			lasting := false
			for _, e := range of[event.Step](got) {
				lasting = lasting || e.Input.Lasting
			}
			if lasting != (proto == fetch.HTTP2PriorKnowledge) {
				t.Errorf("connections last: %v", lasting)
			}
		}))
	}
}

// slowDisk takes a block only when it may.
type slowDisk struct {
	nowhere
	asked, may chan struct{}
}

func (s slowDisk) WriteAt(p []byte, _ int64) (int, error) {
	s.asked <- struct{}{}
	<-s.may
	return len(p), nil
}

// While the last block of a response is being written, the owner does not know that it has
// come, and may shorten the request: its connection, which has been given back, is used on.
func TestARequestIsShortenedWhileItsLastBlockIsWritten(t *testing.T) {
	t.Run("", timeless(func(t *bubble) {
		o := newObject(mib)
		l := &testLink{name: "a"}
		e := newRig(t, l).engine()
		defer e.Close()
		c, u := e.routes[0].client(0), at(t, serve(t, o), "", "/f")
		for range 2 {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			disk := slowDisk{asked: make(chan struct{}), may: make(chan struct{})}
			tr := &transfer{request: request{url: u}, exchange: exchange{client: c, turn: c.Turn(u), to: disk, cancel: cancel, waker: newWaker()}}
			tr.end.Store(1000)
			tell := make(chan message)
			go e.run(ctx, tr, tell)
			m := <-tell
			if m.resp == nil {
				t.Fatal(m.err)
			}
			tr.noteResponse(m.resp)
			m.answer <- true
			<-disk.asked
			tr.shorten(500)
			close(disk.may)
			if m = <-tell; m.err != nil {
				t.Fatal(m.err)
			}
		}
		if n := l.open(); n != 1 {
			t.Errorf("%d connections are open", n)
		}
	}))
}
