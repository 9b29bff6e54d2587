package emu

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

// A device that has gone takes what is under way with it, and comes back with
// other addresses. What happens at 0 has happened before the first packet.
func TestGoneAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLab(t, "link a,down=12,rtt=200\nlink b,down=12\nat 0s b gone\nat 50ms a gone\nat 1s b back\nat 2s a back")
		time.Sleep(time.Second)
		synctest.Wait()
		if a, b := l.client[0].times(), l.client[1].times(); a != 0 || b != 1 {
			t.Errorf("before the first packet a had left %d times, b %d times", a, b)
		}
		l.up(1500, 1)
		l.down(1500, 1)
		l.at(time.Second - time.Millisecond)
		if n := l.client[0].times(); n != 1 || len(l.client[0].arrivals())+len(l.server[0].arrivals()) != 0 {
			t.Errorf("gone %d times; %v and %v arrived", n, l.client[0].arrivals(), l.server[0].arrivals())
		}
		l.at(3 * time.Second)
		before := l.Stats()[0]
		l.up(1500, 2) // with the address that it had before
		l.client[0].in <- makePacket(clientAddr(101), serverAddr, 1500, 3)
		l.server[0].in <- makePacket(serverAddr, clientAddr(101), 1500, 4)
		l.at(4 * time.Second)
		up, down := l.server[0].arrivals(), l.client[0].arrivals()
		if len(up) != 1 || up[0].id != 3 || len(down) != 1 || down[0].id != 4 {
			t.Errorf("%v and %v arrived", up, down)
		}
		if after := l.Stats()[0]; after.Up.SourceDrops != before.Up.SourceDrops+1 {
			t.Errorf("counted %+v, then %+v", before, after)
		}
	})
}

func TestAddressesOfOtherLinksDoNotPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLab(t, "link a,down=12\nlink b,down=12")
		linkLocal := netip.MustParseAddr("fe80::1")
		server6 := netip.MustParseAddr("2001:db8::1")
		for _, b := range [][]byte{
			makePacket(linkLocal, netip.MustParseAddr("ff02::2"), 60, 0),
			makePacket(clientAddr(0), netip.MustParseAddr("224.0.0.1"), 60, 0),
			{0x45},
			{0x60},
			{},
			{0x15, 40: 0},
		} {
			l.client[0].in <- b
		}
		synctest.Wait()
		time.Sleep(time.Second)
		if l.Elapsed() != 0 {
			t.Error("noise started the clock")
		}
		l.client[0].in <- makePacket(clientAddr(1), serverAddr, 60, 0)
		l.client[0].in <- makePacket(clientAddr6(1), server6, 60, 0)
		synctest.Wait()
		if l.Elapsed() != 0 {
			t.Error("a packet that does not pass started the clock")
		}
		l.client[0].in <- makePacket(clientAddr6(0), server6, 60, 6)
		l.client[1].in <- makePacket(clientAddr(1), serverAddr, 60, 4)
		l.server[0].in <- makePacket(serverAddr, clientAddr(1), 60, 0)
		reset := makePacket(clientAddr(1), serverAddr, 60, 0)
		reset[9], reset[20+13] = 6, rst
		l.client[0].in <- reset
		time.Sleep(time.Second)
		synctest.Wait()
		s := l.Stats()
		if s[0].Up.SourceResets != 1 {
			t.Errorf("%d resets from another link's address", s[0].Up.SourceResets)
		}
		if s[0].Up.SourceDrops != 2 || s[0].Down.SourceDrops != 1 || s[1].Up.SourceDrops != 0 {
			t.Errorf("counted %+v", s)
		}
		a, b := l.server[0].arrivals(), l.server[1].arrivals()
		if len(a) != 1 || a[0].id != 6 || len(b) != 1 || b[0].id != 4 || len(l.client[0].arrivals()) != 0 {
			t.Errorf("arrived: %+v and %+v", a, b)
		}
	})
}

func TestClosedOnStartError(t *testing.T) {
	s, err := scenario.Load("high-speed")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(Config{Scenario: s}); err == nil {
		t.Error("two links without ports were started")
	}
}

func TestPortsThatRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := scenario.Parse("test", strings.NewReader("link a,down=1"), nil)
		if err != nil {
			t.Fatal(err)
		}
		in := newMemPort()
		e, err := Start(Config{Scenario: s, Ends: []Ends{{in, failPort{newMemPort()}, []netip.Addr{clientAddr(0)}}}})
		if err != nil {
			t.Fatal(err)
		}
		in.in <- makePacket(clientAddr(0), serverAddr, 60, 0)
		time.Sleep(time.Second)
		synctest.Wait()
		if got := e.Stats()[0].Up; got != (Stats{PortDrops: 1}) {
			t.Errorf("counted %+v", got)
		}
		if err := errors.Join(e.Close(), e.Close()); err != nil {
			t.Error(err)
		}
	})
}
