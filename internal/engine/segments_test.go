package engine

import (
	"context"
	"io"
	"net"
	"runtime"
	"testing"

	"github.com/mlget/mlget/internal/event"
)

// plainLink dials without a detour, so that the kernel's counters can be read.
type plainLink struct{ name string }

func (l plainLink) Name() string { return l.name }

func (l plainLink) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}

// What the kernel counts rises while a download runs, and is not forgotten when
// connections close.
func TestSegmentsAreCounted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("not read on " + runtime.GOOS)
	}
	o := newObject(8 * mib)
	s, web := serveTLS(t, o)
	r := newRig(t)
	r.cfg.HTTP = web
	r.links = NewLinks(r.bus, r.cfg.Started, []Network{plainLink{"a"}, plainLink{"b"}}, make([]Terms, 2), 0, DefaultBlockSize)
	got := r.get(at(t, s, "", "/f"))
	got.right(o.body)
	open := 0
	var last [2]event.TCPSegments
	for _, e := range of[event.Sample](got) {
		for i, l := range e.Links {
			if l.TCP.In < last[i].In || l.TCP.Out < last[i].Out || l.TCP.DataIn < last[i].DataIn {
				t.Errorf("link %d: %+v after %+v", i, l.TCP, last[i])
			}
			open = max(open, l.Connections)
			last[i] = l.TCP
		}
	}
	if open == 0 {
		t.Error("no sample shows an open connection")
	}
	var dataIn int64
	for i, l := range r.links {
		final := l.Totals().TCP
		if final.In < last[i].In || final.DataIn > final.In || final.DataOut > final.Out {
			t.Errorf("link %d: %+v at the end, %+v before", i, final, last[i])
		}
		if again := l.Totals().TCP; again != final {
			t.Errorf("link %d: %+v, then %+v", i, final, again)
		}
		dataIn += final.DataIn
	}
	// Loopback's segments hold no more than 64 KiB.
	if dataIn < 8*mib/65536 {
		t.Errorf("%d segments with data for 8 MiB", dataIn)
	}
}

// connection returns both ends of a connection of the kernel's over loopback.
func connection(t *testing.T) (client, server net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	if client, err = net.Dial("tcp4", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return client, server
}

func TestSegmentsOfAConnectionCountOnce(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("not read on " + runtime.GOOS)
	}
	var s segmentCount
	raw, peer := connection(t)
	conn := s.watch(raw, false)
	if _, err := peer.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	before, open := s.lately(sampleEvery)
	if open != 1 || before.DataIn != 1 || before.In < 2 {
		t.Errorf("%d open, %+v", open, before)
	}
	_ = conn.Close()
	_ = conn.Close()
	after, open := s.lately(2 * sampleEvery)
	if open != 0 || after.DataIn != 1 || after.In < before.In {
		t.Errorf("%d open, %+v after %+v", open, after, before)
	}
	_ = peer.Close()

	// What is no connection of the kernel's counts nothing, and is open all the
	// same.
	a, b := net.Pipe()
	defer func() { _ = b.Close() }()
	pipe := s.watch(a, false)
	if got, open := s.lately(3 * sampleEvery); open != 1 || got != after {
		t.Errorf("%d open, %+v", open, got)
	}
	_ = pipe.Close()
	if got, open := s.lately(3 * sampleEvery); open != 0 || got != after || got != s.total() {
		t.Errorf("%d open, %+v", open, got)
	}
}

// What had come and was not read when its connection ended has crossed the link all the same.
func TestCrossedCountsWhatNobodyRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("not read on " + runtime.GOOS)
	}
	var s segmentCount
	raw, peer := connection(t)
	conn := s.watch(raw, true)
	const sent, read = 20_000, 5_000
	if _, err := peer.Write(make([]byte, sent)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, read)); err != nil {
		t.Fatal(err)
	}
	if n := s.crossed(); n < read || n >= sent {
		t.Errorf("%d bytes crossed, of which %d were read", n, read)
	}
	_ = conn.Close()
	if n := s.crossed(); n < sent {
		t.Errorf("%d bytes crossed, of %d", n, sent)
	}
}
