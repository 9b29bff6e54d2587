package fetch

import (
	"bytes"
	"net/http"
	"testing"
	"time"
)

// TestWindowNeverLimits plays TCP's slow start against the window: a server that
// doubles what it sends in each round trip, up to the link's rate, with the news
// of a larger window arriving half a round trip after it was due. It must always
// be able to send what TCP lets it.
func TestWindowNeverLimits(t *testing.T) {
	const steps = 100 // per round trip
	for _, c := range []struct {
		name       string
		rtt        time.Duration
		mbit       float64
		flight     float64 // bytes that the server begins with
		skew       int     // of our round trips against the server's, in steps
		pause      int     // round trips before the rate is halved for ten of them
		wantWindow int64   // at most
	}{
		{"long fat", 300 * time.Millisecond, 220, 14600, 0, 0, maxWindow},
		{"long fat, skewed", 300 * time.Millisecond, 220, 14600, 61, 0, maxWindow},
		{"large first flight", 50 * time.Millisecond, 200, 146_000, 30, 0, maxWindow},
		{"wi-fi", 16 * time.Millisecond, 82, 14600, 10, 0, 5 << 20},
		{"fast and near", 2 * time.Millisecond, 900, 14600, 10, 0, maxWindow},
		{"lte", 50 * time.Millisecond, 64, 14600, 10, 20, 4 << 20},
		{"slow", 100 * time.Millisecond, 1, 14600, 10, 0, firstWindow},
	} {
		t.Run(c.name, func(t *testing.T) {
			hc := &h2Conn{pace: newPace()}
			f := &hc.pace
			f.sample(c.rtt)
			s := &h2Stream{hc: hc, header: &http.Response{}, left: -1, credit: firstWindow}
			at := time.Unix(1000, 0).Add(c.rtt * time.Duration(c.skew) / steps)
			bdp := c.mbit * 1e6 / 8 * c.rtt.Seconds()
			// In bytes, all told: granted[i] is what we have granted by the i-th step.
			flight, sent, granted := c.flight, []int64{0}, []int64{firstWindow}
			for i := 1; i <= 40*steps; i++ {
				if i%steps == 0 {
					flight = min(2*flight, bdp)
					if c.pause > 0 && i/steps >= c.pause && i/steps < c.pause+10 {
						flight = bdp / 2
					}
				}
				sent = append(sent, sent[i-1]+int64(flight/steps))
				n := sent[max(0, i-steps/2)] - sent[max(0, i-1-steps/2)]
				f.received(at.Add(c.rtt*time.Duration(i)/steps), n)
				s.credit -= n
				granted = append(granted, granted[i-1]+s.grantLocked())
				if known := granted[max(0, i-steps/2)]; sent[i] > known {
					t.Fatalf("round trip %.2f: %d bytes sent, %d granted, window %d", float64(i)/steps, sent[i], known, f.window)
				}
			}
			if f.window > c.wantWindow {
				t.Errorf("window %d", f.window)
			}
		})
	}
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
	if f.window != 2*firstWindow {
		t.Errorf("window %d", f.window)
	}
	f.received(now.Add(10*time.Millisecond), 100<<20)
	if f.window != 2*firstWindow {
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

// TestBacklog: what goes in comes out, and the memory is used again.
func TestBacklog(t *testing.T) {
	var b backlog
	var spare [][]byte
	var in, out bytes.Buffer
	p := make([]byte, 40_000)
	for i := range 200 {
		n := (i * 7919) % len(p)
		for j := range p[:n] {
			p[j] = byte(i + j*j)
		}
		in.Write(p[:n])
		b.write(p[:n], &spare)
		k := b.read(p[:(i*104729)%len(p)], &spare)
		out.Write(p[:k])
		if b.size() != int64(in.Len()-out.Len()) || len(spare) > maxSpare {
			t.Fatalf("%d bytes, %d spare", b.size(), len(spare))
		}
	}
	for b.size() > 0 {
		out.Write(p[:b.read(p, &spare)])
	}
	if !bytes.Equal(in.Bytes(), out.Bytes()) {
		t.Error("other bytes")
	}
	b.write(p, &spare)
	b.drop(&spare)
	if n := b.read(p, &spare); n != 0 || b.size() != 0 {
		t.Errorf("%d bytes after drop", n)
	}
}
