package fetch

import (
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// TestWaits: in clear too, as soon as what came with the header has been read, one can
// wait without memory, and is not woken before something has come.
func TestWaits(t *testing.T) {
	b := testbody.Body{Size: 10_000, Seed: 58}
	turn := make(chan struct{}, 2)
	defer close(turn)
	s := stepping(t, b, []step{{2000, false}, {b.Size - 2000, true}}, turn)
	r, err := client(t, Config{}).Get(hurry(t), s.url(t), 0, b.Size)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // read to its end
	got := make([]byte, b.Size)
	turn <- struct{}{}
	if _, err := io.ReadFull(r, got[:2000]); err != nil || !r.Waits() {
		t.Fatalf("%v, or it cannot wait", err)
	}
	came, waited := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(waited)
		r.Wait(8000)
		select {
		case <-came:
		default:
			t.Error("nothing had come")
		}
	}()
	time.Sleep(20 * time.Millisecond) // so that a failure to wait shows
	close(came)
	turn <- struct{}{}
	<-waited
	r.Wait(8000) // there is something: at once
	if _, err := io.ReadFull(r, got[2000:]); err != nil || r.Waits() || sum(got) != sum(part(t, b, 0, b.Size)) {
		t.Errorf("%v, other bytes, or waits for more", err)
	}
}

// TestReadsAreCounted: each system call that brings bytes counts, and none that finds nothing.
func TestReadsAreCounted(t *testing.T) {
	b := testbody.Body{Size: 10_000, Seed: 60}
	turn := make(chan struct{}, 2)
	defer close(turn)
	s := stepping(t, b, []step{{2000, false}, {b.Size - 2000, true}}, turn)
	c := client(t, Config{ReadBuffer: 1 << 10})
	r, err := c.Get(hurry(t), s.url(t), 0, b.Size)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // read to its end
	got, log := make([]byte, b.Size), c.trace.(*connLog)
	turn <- struct{}{}
	if _, err := io.ReadFull(r, got[:2000]); err != nil {
		t.Fatal(err)
	}
	before := log.reads.Load()
	if before < 1 || before > 4 { // header and 2000 bytes come in two pieces, which a buffer of 1 KiB may split
		t.Errorf("%d reads brought a header and 2000 bytes", before)
	}
	turn <- struct{}{}
	r.Wait(8000)
	if _, err := io.ReadFull(r, got[2000:]); err != nil || sum(got) != sum(part(t, b, 0, b.Size)) {
		t.Fatal(err)
	}
	if n := log.reads.Load() - before; n < 1 || n > 2 {
		t.Errorf("%d reads brought what came at once", n)
	}
}

// TestTheEndIsAcknowledged: what a server may keep back until all before it is acknowledged
// is not waited for together with that, nor is that acknowledged late.
func TestTheEndIsAcknowledged(t *testing.T) {
	const end = 100 // bytes
	b := testbody.Body{Size: 1 << 20, Seed: 59}
	turn := make(chan struct{}, 2)
	defer close(turn)
	s := stepping(t, b, []step{{b.Size - end, false}, {end, false}}, turn)
	ctx := hurry(t)
	r, err := client(t, Config{}).Get(ctx, s.url(t), 0, b.Size)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // read to its end
	r.Gather(1 << 20)
	quick := func(set int) (is int) { // set 0: acknowledgements are late
		raw, err := r.Conn().(syscall.Conn).SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		if cerr := raw.Control(func(fd uintptr) {
			if set >= 0 {
				err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, set)
				return
			}
			is, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK)
		}); err != nil || cerr != nil {
			t.Fatal(err, cerr)
		}
		return is
	}
	turn <- struct{}{}
	got := make([]byte, b.Size)
	at := int64(0)
	for at < b.Size-end {
		want := b.Size - at
		r.Wait(int(want))
		if set := int64(markSet(t, r)); set > max(1, want-end) {
			t.Errorf("%d bytes are waited for where %d are to come", set, want)
		}
		n, err := r.Read(got[at:])
		if err != nil {
			t.Fatal(err)
		}
		at += int64(n)
	}
	quick(0)
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		r.Wait(end)
	}()
	for quick(-1) == 0 && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if ctx.Err() != nil {
		t.Error("what has come is acknowledged late")
	}
	turn <- struct{}{}
	<-waited
	if _, err := io.ReadFull(r, got[at:]); err != nil || sum(got) != sum(part(t, b, 0, b.Size)) {
		t.Errorf("%v or other bytes", err)
	}
}
