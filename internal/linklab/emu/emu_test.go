package emu

import (
	"errors"
	"io"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memPort is a port in memory: what is put into in can be read, what is
// written is noted with its time.
type memPort struct {
	in     chan []byte
	closed chan struct{}

	mu      sync.Mutex
	got     []arrival
	carrier []bool
	left    int // how often it was taken away
}

type arrival struct {
	at time.Time
	n  int
	id byte // the last byte
}

func newMemPort() *memPort {
	return &memPort{in: make(chan []byte), closed: make(chan struct{})}
}

func (p *memPort) Read(b []byte) (int, error) {
	select {
	case q := <-p.in:
		return copy(b, q), nil
	case <-p.closed:
		return 0, io.EOF
	}
}

func (p *memPort) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, arrival{time.Now(), len(b), b[len(b)-1]})
	return len(b), nil
}

func (p *memPort) Close() error { close(p.closed); return nil }

func (p *memPort) SetCarrier(on bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.carrier = append(p.carrier, on)
	return nil
}

// Leave and Return note that they were called.
func (p *memPort) Leave() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left++
	return nil
}

// times is how often it left.
func (p *memPort) times() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

func (p *memPort) Return() ([]netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return []netip.Addr{clientAddr(100 + p.left)}, nil
}

func (p *memPort) arrivals() []arrival {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.got
}

// lab is an emulator on memory ports, inside a synctest bubble.
type lab struct {
	*Emulator
	t      *testing.T
	start  time.Time
	client []*memPort
	server []*memPort
}

func startLab(t *testing.T, text string) *lab {
	t.Helper()
	s, err := scenario.Parse("test", strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, start: time.Now()}
	c := Config{Scenario: s, Seed: 5}
	for i := range s.Links {
		in, out := newMemPort(), newMemPort()
		l.client = append(l.client, in)
		l.server = append(l.server, out)
		c.Ends = append(c.Ends, Ends{Client: in, Server: out, Addrs: []netip.Addr{clientAddr(i), clientAddr6(i)}})
	}
	if l.Emulator, err = Start(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func clientAddr(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i + 1), 0, 2}) }

func clientAddr6(i int) netip.Addr {
	return netip.AddrFrom16([16]byte{0: 0x20, 1: 0x01, 5: byte(i + 1), 15: 2})
}

// packet makes an IPv4 packet whose last byte is its id.
func makePacket(src, dst netip.Addr, n int, id byte) []byte {
	b := make([]byte, n)
	if src.Is4() {
		b[0] = 0x45
		copy(b[12:], src.AsSlice())
		copy(b[16:], dst.AsSlice())
	} else {
		b[0] = 0x60
		copy(b[8:], src.AsSlice())
		copy(b[24:], dst.AsSlice())
	}
	b[n-1] = id
	return b
}

var serverAddr = netip.AddrFrom4([4]byte{192, 0, 2, 1}) //nolint:gochecknoglobals // a constant

// up and down send a packet over the first link.
func (l *lab) up(n int, id byte) { l.client[0].in <- makePacket(clientAddr(0), serverAddr, n, id) }

func (l *lab) down(n int, id byte) { l.server[0].in <- makePacket(serverAddr, clientAddr(0), n, id) }

// at waits until a time since the lab's first packet.
func (l *lab) at(d time.Duration) {
	time.Sleep(d - l.Elapsed())
	synctest.Wait()
}

// since is when the i-th arrival came, counted from the lab's start.
func (l *lab) since(a []arrival, i int) time.Duration { return a[i].at.Sub(l.start) }

func TestRateAndDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLab(t, "link a,down=12,up=24,rtt=20,queue=1000")
		for i := range 50 {
			l.up(1500, byte(i))
			l.down(1500, byte(i))
		}
		l.at(time.Second)
		up, down := l.server[0].arrivals(), l.client[0].arrivals()
		if len(up) != 50 || len(down) != 50 {
			t.Fatalf("%d up and %d down of 50 arrived", len(up), len(down))
		}
		for i := range 50 {
			if got, want := l.since(down, i), 10*time.Millisecond+time.Duration(i+1)*time.Millisecond; got != want || down[i].id != byte(i) {
				t.Errorf("down %d came at %v, want %v", down[i].id, got, want)
			}
			if got, want := l.since(up, i), 10*time.Millisecond+time.Duration(i+1)*time.Millisecond/2; got != want || up[i].id != byte(i) {
				t.Errorf("up %d came at %v, want %v", up[i].id, got, want)
			}
		}
		s := l.Stats()[0]
		if want := (Stats{Packets: 50, Bytes: 75000}); s.Down != want || s.Up != want || s.Name != "a" {
			t.Errorf("counted %+v", s)
		}
	})
}

func TestQueueIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// 50 ms at 12 Mbit/s are 50 packets; after the fall to 1.2 Mbit/s, 5.
		l := startLab(t, "link a,down=12,queue=50\nat 1s a rate 1.2")
		l.up(40, 0)
		for i := range 100 {
			l.down(1500, byte(i))
		}
		l.at(900 * time.Millisecond)
		if got := len(l.client[0].arrivals()); got != 50 {
			t.Errorf("%d of 100 packets found room, want 50", got)
		}
		l.at(1100 * time.Millisecond)
		for i := range 100 {
			l.down(1500, byte(i))
		}
		l.at(2 * time.Second)
		if got := len(l.client[0].arrivals()) - 50; got != 5 {
			t.Errorf("%d of 100 packets found room, want 5", got)
		}
		if got := l.Stats()[0].Down.QueueDrops; got != 145 {
			t.Errorf("%d drops counted, want 145", got)
		}
	})
}

func TestSlowLinkHoldsTwoPackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLab(t, "link a,down=0.1,queue=1")
		l.up(40, 0)
		for i := range 5 {
			l.down(1500, byte(i))
		}
		l.at(time.Second)
		if got := len(l.client[0].arrivals()); got != minQueuePackets {
			t.Errorf("%d packets passed", got)
		}
	})
}

func TestLossIsRandomAndRepeats(t *testing.T) {
	count := func() (lost int64) {
		synctest.Test(t, func(t *testing.T) {
			l := startLab(t, "link a,down=1000,loss=10\nat 1s a loss 100\nat 2s a loss 0")
			for range 10000 {
				l.up(40, 0)
			}
			l.at(900 * time.Millisecond)
			s := l.Stats()[0].Up
			if s.Packets+s.LossDrops != 10000 || s.LossDrops < 850 || s.LossDrops > 1150 {
				t.Errorf("of 10000 packets %d were lost, %d passed", s.LossDrops, s.Packets)
			}
			lost = s.LossDrops
			l.at(1500 * time.Millisecond)
			l.down(40, 0)
			l.at(2500 * time.Millisecond)
			l.down(40, 0)
			l.at(2600 * time.Millisecond)
			if d := l.Stats()[0].Down; d.LossDrops != 1 || d.Packets != 1 {
				t.Errorf("with events: %+v", d)
			}
		})
		return lost
	}
	if a, b := count(), count(); a != b {
		t.Errorf("the same seed lost %d and %d", a, b)
	}
}

func TestDownSwallowsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLab(t, "link a,down=12,rtt=200\nat 50ms a down\nat 3s a up\nat 4s a carrier off\nat 5s a carrier on")
		time.Sleep(7 * time.Second) // events count from the first packet, not from now
		l.start = time.Now()
		l.up(1500, 1)
		for range 10 {
			l.down(1500, 1)
		}
		l.at(time.Second)
		l.down(1500, 2)
		l.up(1500, 2)
		l.at(3100 * time.Millisecond)
		l.down(1500, 3)
		l.up(1500, 3)
		l.at(4 * time.Second)
		for _, p := range []*memPort{l.client[0], l.server[0]} {
			if got := p.arrivals(); len(got) != 1 || got[0].id != 3 {
				t.Errorf("arrived: %+v", got)
			}
		}
		s := l.Stats()[0]
		if s.Down.DownDrops != 11 || s.Up.DownDrops != 2 {
			t.Errorf("counted %+v", s)
		}
		l.at(6 * time.Second)
		if c := l.client[0].carrier; len(c) != 2 || c[0] || !c[1] {
			t.Errorf("the carrier was set to %v", c)
		}
	})
}

func TestLiveEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLab(t, "link a,down=6,queue=1000,rtt=20\nlink b,down=1")
		l.up(40, 0)
		for i := range 20 {
			l.down(1500, byte(i))
		}
		// After 10.5 packets of 2 ms the rate falls to a tenth.
		l.at(21 * time.Millisecond)
		apply := func(k scenario.Kind, v float64) {
			if err := l.Apply(scenario.Event{Link: "a", Kind: k, Value: v}); err != nil {
				t.Fatal(err)
			}
		}
		apply(scenario.Rate, 0.6)
		l.at(time.Second)
		got := l.client[0].arrivals()
		if d := l.since(got, 10); d != (10+31)*time.Millisecond {
			t.Errorf("the packet in service came at %v", d)
		}
		if d := l.since(got, 11); d != (10+51)*time.Millisecond {
			t.Errorf("the packet behind it came at %v", d)
		}
		// A shorter delay does not let packets overtake.
		apply(scenario.Rate, 1200)
		apply(scenario.RTT, 2000)
		l.down(1500, 100)
		l.at(1100 * time.Millisecond)
		apply(scenario.RTT, 0)
		l.down(1500, 101)
		l.at(3 * time.Second)
		got = l.client[0].arrivals()[20:]
		if len(got) != 2 || got[0].id != 100 || got[1].id != 101 {
			t.Errorf("arrived: %+v", got)
		}
		for _, e := range []scenario.Event{{Link: "c"}, {Link: "a", Kind: scenario.Loss, Value: 101}} {
			if err := l.Apply(e); err == nil {
				t.Errorf("%+v was accepted", e)
			}
		}
	})
}

func TestRampComesAfterSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLab(t, "link a,down=12,up=1000,ramp=2,ramp0=0.5")
		l.up(40, 0)
		// takes is how long a packet needs at a time, which says the rate.
		takes := func(at time.Duration) time.Duration {
			l.at(at)
			n, from := len(l.client[0].arrivals()), time.Now()
			l.down(1500, 0)
			time.Sleep(10 * time.Millisecond)
			return l.client[0].arrivals()[n].at.Sub(from)
		}
		slow, full := 1990*time.Microsecond, time.Millisecond
		if d := takes(0); d < slow {
			t.Errorf("at the start a packet takes %v", d)
		}
		if d := takes(900 * time.Millisecond); d > slow {
			t.Errorf("after 0.9 s a packet takes %v", d)
		}
		takes(1800 * time.Millisecond)
		if d := takes(2700 * time.Millisecond); d != full {
			t.Errorf("after the ramp a packet takes %v", d)
		}
		if d := takes(3600 * time.Millisecond); d != full {
			t.Errorf("after 0.9 s of silence a packet takes %v", d)
		}
		if d := takes(4700 * time.Millisecond); d < slow {
			t.Errorf("after 1.1 s of silence a packet takes %v", d)
		}
	})
}

// TestPlaysTheRateOfTheBound saturates a link whose rate does everything that
// a rate can do and holds it against the process that the bound uses.
func TestPlaysTheRateOfTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := startLab(t, "link a,down=20,ramp=2,vary=0.6,queue=100\nat 4s a rate 5\nat 5s a rate 30")
		l.up(40, 0)
		const end = 8 * time.Second
		for l.Elapsed() < end {
			for range 60 { // 10 ms at up to 48 Mbit/s, and what is too much is dropped
				l.down(1500, 0)
			}
			time.Sleep(10 * time.Millisecond)
		}
		want := scenario.NewProcess(l.sc, 0, 5).Bits(0, end, 0) / 8
		var got float64
		for i, a := range l.client[0].arrivals() {
			if l.since(l.client[0].arrivals(), i) < end {
				got += float64(a.n)
			}
		}
		if diff := got - want; diff < -3000 || diff > 0 {
			t.Errorf("%v bytes came, %v could", got, want)
		}
	})
}

// failPort refuses what it is given.
type failPort struct{ *memPort }

func (failPort) Write([]byte) (int, error) { return 0, errors.New("device is down") }
