package fetch

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// TestWindowNeverLimits plays TCP's slow start against the window: a server that
// doubles what it sends in each round trip, up to the link's rate, with the news
// of a larger window, and of a PING, arriving half a round trip after it was due. It
// must always be able to send what TCP lets it.
func TestWindowNeverLimits(t *testing.T) {
	const steps = 100 // per round trip
	for _, c := range []struct {
		name       string
		rtt        time.Duration
		mbit       float64
		flight     float64 // bytes that the server begins with
		skew       int     // of our round trips against the server's, in steps
		pause      int     // round trips before the rate is halved for ten of them
		wantWindow int64   // at most, when all is over
	}{
		{"long fat", 300 * time.Millisecond, 220, 14600, 0, 0, maxWindow},
		{"long fat, skewed", 300 * time.Millisecond, 220, 14600, 61, 0, maxWindow},
		{"large first flight", 50 * time.Millisecond, 200, 146_000, 30, 0, 12 << 20},
		{"wi-fi", 16 * time.Millisecond, 82, 14600, 10, 0, 2 << 20},
		{"fast and near", 2 * time.Millisecond, 900, 14600, 10, 0, maxWindow},
		{"lte", 50 * time.Millisecond, 64, 14600, 10, 20, 4 << 20},
		{"slow", 100 * time.Millisecond, 1, 14600, 10, 0, 2 * leastWindow},
	} {
		for _, trip := range []time.Duration{0, c.rtt} { // as TCP tells
			name := c.name
			if trip > 0 {
				name += ", told"
			}
			t.Run(name, func(t *testing.T) {
				hc := &h2Conn{pace: newPace()}
				f := &hc.pace
				f.sample(c.rtt)
				f.trip = trip
				s := &h2Stream{hc: hc, header: &http.Response{}, left: -1, credit: firstWindow}
				at := time.Unix(1000, 0).Add(c.rtt * time.Duration(c.skew) / steps)
				bdp := c.mbit * 1e6 / 8 * c.rtt.Seconds()
				// In bytes, all told: granted[i] is what we have granted by the i-th step.
				flight, sent, granted := c.flight, []int64{0}, []int64{firstWindow}
				pinged := -steps
				for i := 1; i <= 100*steps; i++ {
					if i%steps == 0 {
						flight = min(2*flight, bdp)
						if c.pause > 0 && i/steps >= c.pause && i/steps < c.pause+10 {
							flight = bdp / 2
						}
					}
					sent = append(sent, sent[i-1]+int64(flight/steps))
					n := sent[max(0, i-steps/2)] - sent[max(0, i-1-steps/2)]
					now := at.Add(c.rtt * time.Duration(i) / steps)
					if i == pinged+steps {
						f.answered(now)
					}
					f.received(now, n)
					s.credit -= n
					grant, ping := s.grantLocked(now)
					if ping {
						pinged = i
					}
					granted = append(granted, granted[i-1]+grant)
					if known := granted[max(0, i-steps/2)]; sent[i] > known {
						t.Fatalf("round trip %.2f: %d bytes sent, %d granted, window %d", float64(i)/steps, sent[i], known, f.window)
					}
				}
				if f.window > c.wantWindow {
					t.Errorf("window %d", f.window)
				}
				t.Logf("window %d, %.1f x BDP", f.window, float64(f.window)/bdp)
			})
		}
	}
}

// TestSlowLinksArePinged: over a link that has become slow a PING does not wait until there is
// something to grant, or what a server may send in vain would be as much for long.
func TestSlowLinksArePinged(t *testing.T) {
	hc := &h2Conn{pace: pace{window: maxWindow, rtt: 20 * time.Millisecond, flight: 1 << 20}}
	s := &h2Stream{hc: hc, header: &http.Response{}, left: -1, credit: maxWindow}
	now := time.Unix(1000, 0)
	for pings := range int64(4) { // each of them says that little came meanwhile
		hc.pace.asked = now.Add(-fallRest)
		if grant, ping := s.grantLocked(now); grant > 0 || !ping {
			t.Fatalf("%d bytes granted, PING: %v", grant, ping)
		}
		hc.pace.flight = 1000
		now = now.Add(hc.pace.rtt)
		hc.pace.answered(now)
		if want := max(leastWindow, int64(maxWindow)>>(2*(pings+1))); hc.pace.window != want {
			t.Errorf("a window of %d bytes after %d PINGs, want %d", hc.pace.window, pings+1, want)
		}
		hc.pace.flight = 1 << 20 // it falls again
	}
}

// TestWindowFollows: where the way becomes fifteen times as long, the window soon lets
// the link be filled again; where the link becomes slow, the server may soon send less;
// and all that takes few PINGs.
func TestWindowFollows(t *testing.T) {
	t.Run("PINGs", func(t *testing.T) { windowFollows(t, false) })
	t.Run("told", func(t *testing.T) { windowFollows(t, true) })
}

func windowFollows(t *testing.T, told bool) {
	t.Helper()
	type news struct {
		at   int // ms
		n    int64
		ping bool
	}
	const longer, slower, end = 2000, 6000, 20000 // ms
	hc := &h2Conn{pace: newPace()}
	hc.pace.sample(20 * time.Millisecond)
	s := &h2Stream{hc: hc, header: &http.Response{}, left: -1, credit: firstWindow}
	begin := time.Unix(1000, 0)
	var up, down []news
	may, pings := int64(firstWindow), 0 // what the server may send
	came := make([]int64, end)          // by that ms
	largest, rate := int64(0), int64(12500)
	for ms := 1; ms < end; ms++ {
		way := 10
		if ms >= longer {
			way = 150
		}
		if ms >= slower {
			rate = 3125
		}
		if told {
			hc.pace.trip = time.Duration(2*way) * time.Millisecond
		}
		for ; len(up) > 0 && up[0].at <= ms; up = up[1:] {
			if may += up[0].n; up[0].ping {
				down = append(down, news{at: ms + way, ping: true})
			}
		}
		n := min(rate, may)
		may -= n
		down = append(down, news{at: ms + way, n: n})
		came[ms] = came[ms-1]
		now := begin.Add(time.Duration(ms) * time.Millisecond)
		for ; len(down) > 0 && down[0].at <= ms; down = down[1:] {
			if down[0].ping {
				hc.pace.answered(now)
				continue
			}
			hc.pace.received(now, down[0].n)
			s.credit -= down[0].n
			came[ms] += down[0].n
			grant, ping := s.grantLocked(now)
			if ping {
				pings++
			}
			up = append(up, news{ms + way, grant, ping})
		}
		if ms < slower {
			largest = max(largest, hc.pace.window)
		}
	}
	if n := came[longer] - came[longer-500]; n != 500*12500 {
		t.Errorf("%d bytes in half a second of the short way", n)
	}
	if n := came[slower] - came[slower-2000]; n != 2000*12500 {
		t.Errorf("%d bytes in two seconds of the long way", n)
	}
	if w := hc.pace.window; w > largest/3 {
		t.Errorf("window %d, after %d", w, largest)
	}
	if most := end/5000 + 6; pings > most || told && pings > 0 {
		t.Errorf("%d PINGs", pings)
	}
	t.Logf("window %d, after %d; %d PINGs", hc.pace.window, largest, pings)
}

// TestWindowBurst: reading what has piled up while we paused is not the link's rate.
func TestWindowBurst(t *testing.T) {
	f := newPace()
	now := time.Unix(1000, 0)
	f.received(now, 100<<20)
	if f.window != firstWindow {
		t.Errorf("window %d without a round-trip time", f.window)
	}
	f.sample(50 * time.Millisecond)
	f.sample(time.Second) // a slow answer is no round trip
	f.received(now, 100<<20)
	if f.window != 4*firstWindow || f.ask(now) {
		t.Errorf("window %d", f.window)
	}
	f.received(now.Add(10*time.Millisecond), 100<<20)
	if f.window != 4*firstWindow {
		t.Errorf("window %d", f.window)
	}
	for range 20 {
		now = now.Add(60 * time.Millisecond)
		f.received(now, 100<<20)
	}
	if f.window != maxWindow {
		t.Errorf("window %d", f.window)
	}
}

// TestPings: the window shrinks with what comes between a PING and its answer, but not at
// once where nothing does. PINGs are rare, and sooner where the rate has fallen.
func TestPings(t *testing.T) {
	f := newPace()
	f.sample(50 * time.Millisecond)
	now := time.Unix(1000, 0)
	pass := func(d time.Duration, perRound int64) {
		for end := now.Add(d); now.Before(end); now = now.Add(50 * time.Millisecond) {
			f.received(now, perRound)
		}
	}
	ping := func(want bool) {
		t.Helper()
		if got := f.ask(now); got != want {
			t.Errorf("after %v: PING %v", now.Sub(time.Unix(1000, 0)), got)
		}
	}
	const rate = 1 << 20
	pass(100*time.Millisecond, rate)
	ping(false) // it grows
	pass(200*time.Millisecond, rate)
	ping(true)
	ping(false) // the first is not answered
	pass(100*time.Millisecond, rate)
	f.answered(now)
	if f.rtt != 100*time.Millisecond || f.window != 2*headroom*rate {
		t.Errorf("round trips of %v, window %d", f.rtt, f.window)
	}
	f.answered(now.Add(time.Second)) // without a PING
	if f.sample(time.Millisecond); f.rtt != 100*time.Millisecond {
		t.Errorf("round trips of %v", f.rtt)
	}
	pass(4*time.Second, rate)
	ping(false)
	pass(time.Second, rate)
	ping(true)
	f.answered(now.Add(time.Second)) // and nothing came
	if f.window != headroom*rate/2 {
		t.Errorf("window %d after a pause", f.window)
	}
	pass(6*time.Second, rate)
	ping(true)
	pass(100*time.Millisecond, rate)
	f.answered(now)
	pass(800*time.Millisecond, rate/4)
	ping(false)
	pass(300*time.Millisecond, rate/4)
	ping(true)
	for range 10 {
		f.answered(now.Add(time.Millisecond))
		now = now.Add(10 * time.Second)
		pass(time.Second, 1)
		ping(true)
	}
	if f.window != leastWindow {
		t.Errorf("window %d", f.window)
	}
}

// TestShortRounds: over a near link windows are for what comes in 25 ms, before there is an
// answer to a PING and after that.
func TestShortRounds(t *testing.T) {
	const rate = 64 << 10 // in a ms
	f := newPace()
	f.sample(time.Millisecond)
	now := time.Unix(1000, 0)
	for range 200 {
		f.received(now, rate)
		now = now.Add(time.Millisecond)
	}
	before := f.window
	if !f.ask(now) {
		t.Fatal("no PING")
	}
	f.received(now, rate)
	f.answered(now.Add(time.Millisecond))
	if want := int64(headroom * 25 * rate); before < want || f.window != want {
		t.Errorf("windows %d and %d, want %d", before, f.window, want)
	}
}

// TestPingOnTheWire: while a body comes evenly there is a PING, and its answer is noticed.
func TestPingOnTheWire(t *testing.T) {
	const part = 4 * maxFrame
	seen := make(chan bool, 1)
	s := newRawServer(t, func(p *peer) {
		p.preface()
		stream := p.nextStream()
		p.say(frame(frameHeaders, flagHeaders, stream, "\x8a"+field("content-range", "bytes 0-1073741823/1073741824")+
			field("content-length", "1073741824")))
		var credit atomic.Int64
		credit.Store(leastWindow)
		pings := make(chan string, 1)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				kind, flags, to, payload, ok := p.next()
				switch {
				case !ok:
					return
				case kind == frameWindow && to == stream:
					credit.Add(int64(binary.BigEndian.Uint32(payload)))
				case kind == framePing && flags == 0:
					pings <- string(payload)
				}
			}
		}()
		data := strings.Repeat(frame(frameData, 0, stream, strings.Repeat("x", maxFrame)), part/maxFrame)
		pinged := false
		for until := time.Now().Add(20 * time.Second); !pinged && time.Now().Before(until); time.Sleep(30 * time.Millisecond) {
			if credit.Load() < part {
				continue
			}
			credit.Add(-part)
			p.say(data)
			select {
			case payload := <-pings:
				pinged = true
				p.say(frame(framePing, flagEnd, 0, payload))
			default:
			}
		}
		seen <- pinged
		<-ended
	})
	c := client(t, Config{Protocol: HTTP2PriorKnowledge})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := c.Get(ctx, s.url(t), 0, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if !<-seen {
			t.Error("no PING")
		}
		hc := r.body.(*h2Stream).hc
		waits := func() bool {
			hc.mu.Lock()
			defer hc.mu.Unlock()
			return hc.pace.asked.IsZero() || hc.pace.waiting
		}
		for until := time.Now().Add(20 * time.Second); waits(); time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Error("its answer is not noticed")
				break
			}
		}
		cancel()
	}()
	_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, 128<<10))
	_ = r.Close()
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestPingAlone: a PING that goes out with nothing granted is not preceded by an update of 0
// bytes, which would be an error (RFC 9113, 6.9).
func TestPingAlone(t *testing.T) {
	ours, theirs := net.Pipe()
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	_ = theirs.SetReadDeadline(time.Now().Add(20 * time.Second))
	var w h2Writer
	w.init(ours, time.Second)
	w.buf.Reset() // the preface
	go func() { _ = w.update(1, 0, true) }()
	f, err := http2.NewFramer(nil, theirs).ReadFrame()
	if _, ping := f.(*http2.PingFrame); err != nil || !ping {
		t.Errorf("%v, %v", f, err)
	}
}

// TestMeasuredRTTReplacesPings: once TCP tells what a round trip takes, the answer to a PING that
// was on its way changes nothing.
func TestMeasuredRTTReplacesPings(t *testing.T) {
	hc := &h2Conn{pace: pace{window: 1 << 20, rtt: 20 * time.Millisecond}}
	r := &Response{body: &h2Stream{hc: hc}}
	now := time.Unix(1000, 0)
	if !hc.pace.ask(now) {
		t.Fatal("no PING")
	}
	r.Trip(30 * time.Millisecond)
	hc.pace.flight = 16 << 20
	hc.pace.answered(now.Add(time.Second))
	if hc.pace.window != 1<<20 || hc.pace.waiting || hc.pace.trip != 30*time.Millisecond {
		t.Errorf("%+v", hc.pace)
	}
}

// TestPaddingAfterTheLastByte: the end of a stream may come in a frame of its own, with
// padding, after its reader is done. The connection and its other streams are unaffected.
func TestPaddingAfterTheLastByte(t *testing.T) {
	s := newRawServer(t, func(p *peer) {
		p.preface()
		first := p.nextStream()
		p.say(head(first, 0, 10, field("content-length", "10")) + frame(frameData, 0, first, "0123456789"))
		second := p.nextStream()
		p.say(frame(frameData, flagPadded|flagEnd, first, "\x03\x00\x00\x00"))
		p.answer(second)
		_, _ = io.Copy(io.Discard, p.br)
	})
	c := client(t, Config{Protocol: HTTP2PriorKnowledge})
	must(t, c, s.url(t), 0, 10)
	must(t, c, s.url(t), 0, 10)
}
