package emu

import (
	"net/netip"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

// TestNoAllocations drives the pipes as their goroutines do.
func TestNoAllocations(t *testing.T) {
	s, err := scenario.Load("techno-moving")
	if err != nil {
		t.Fatal(err)
	}
	clk := &clock{started: make(chan struct{}), begun: time.Now()}
	clk.start()
	l := newLink(clk, Config{Scenario: s, Ends: []Ends{{Addrs: []netip.Addr{clientAddr(0)}}}}, 0, s.Links[0])
	b := makePacket(serverAddr, clientAddr(0), 1500, 0)
	now := time.Duration(0)
	round := func() {
		for range 100 {
			now += time.Millisecond
			buf := l.down.spare()
			n := copy(buf, b)
			spare, _ := l.enter(&l.down, buf, n, now, l.judge(buf[:n], false))
			l.down.recycle(spare)
			for {
				out, _ := l.down.next(now, l.since, l.delay)
				if out == nil {
					break
				}
				l.down.written(out, len(out), nil)
			}
		}
	}
	round()
	if n := testing.AllocsPerRun(20, round); n != 0 {
		t.Errorf("%v allocations for 100 packets", n)
	}
	if l.down.stats.Packets < 1000 {
		t.Errorf("only %+v", l.down.stats)
	}
	if e := l.radio.machine.Energy(); e.Transfer == 0 {
		t.Errorf("no energy: %+v", e)
	}
}

// FuzzJudge: whatever a device sends, only what bears the client's address of
// the link passes.
func FuzzJudge(f *testing.F) {
	l := new(link)
	l.addrs.Store(&[]netip.Addr{clientAddr(0), clientAddr6(0)})
	f.Add(makePacket(clientAddr(0), serverAddr, 40, 0), true)
	f.Add(makePacket(clientAddr6(0), netip.MustParseAddr("2001:db8::1"), 60, 0), true)
	f.Add(makePacket(serverAddr, clientAddr(0), 40, 0), false)
	f.Add([]byte{0x45, 0}, true)
	f.Fuzz(func(t *testing.T, b []byte, fromClient bool) {
		if opening(b) && len(b) < 40 {
			t.Fatalf("%x opens a connection", b)
		}
		if _, c := connectionOf(b, fromClient); c == opened && (!fromClient || !opening(b)) {
			t.Fatalf("%x is taken for the opening of a connection", b)
		}
		if l.judge(b, fromClient) != pass {
			return
		}
		at, n := 12, 4
		if b[0]>>4 == 6 {
			at, n = 8, 16
		}
		if !fromClient {
			at += n
		}
		if a, ok := netip.AddrFromSlice(b[at : at+n]); !ok || a != clientAddr(0) && a != clientAddr6(0) {
			t.Fatalf("%v passes", a)
		}
	})
}
