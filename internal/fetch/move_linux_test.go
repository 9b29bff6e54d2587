package fetch

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// TestMovable: what came with the header is read, only then can be moved.
func TestMovable(t *testing.T) {
	b := testbody.Body{Size: 200_000, Seed: 55}
	turn := make(chan struct{}, 2)
	defer close(turn)
	s := newRawServer(t, func(p *peer) {
		if p.request() != nil {
			p.say(head206(0, b.Size, b.Size, "") + string(part(t, b, 0, 1000)))
			<-turn
			p.say(string(part(t, b, 1000, b.Size)))
			p.request()
		}
	})
	r, err := client(t, Config{}).Get(hurry(t), s.url(t), 0, b.Size)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // read to its end
	got := make([]byte, b.Size)
	at := int64(0)
	for !r.Movable() {
		n, err := r.Read(got[at:])
		if err != nil {
			t.Fatal(err)
		}
		at += int64(n)
	}
	turn <- struct{}{}
	taker := &reader{}
	for r.Movable() {
		n, err := r.Move(taker, 70_000)
		if err != nil || n > 70_000 {
			t.Fatal(n, err)
		}
		at += int64(copy(got[at:], taker.block[:n]))
	}
	if _, err := r.Read(got); err != io.EOF || at != b.Size || sum(got) != sum(part(t, b, 0, b.Size)) { //nolint:errorlint // as documented
		t.Errorf("%d bytes, %v", at, err)
	}
}

// reader is a Mover that just reads.
type reader struct{ block []byte }

func (m *reader) Take(conn syscall.RawConn, n int64) (got int64, err error) {
	m.block = make([]byte, n)
	cerr := conn.Read(func(fd uintptr) bool {
		var k int
		k, err = syscall.Read(int(fd), m.block)
		got = int64(max(0, k))
		return !errors.Is(err, syscall.EAGAIN)
	})
	if cerr != nil {
		return 0, cerr
	}
	return got, os.NewSyscallError("read", err)
}

// TestMoveEnds: a body that breaks off is no complete one, and what ctx says is
// what Move says.
func TestMoveEnds(t *testing.T) {
	b := testbody.Body{Size: 200_000, Seed: 56}
	for _, c := range []struct {
		name string
		cut  bool
	}{{"closed early", true}, {"cancelled", false}} {
		t.Run(c.name, func(t *testing.T) {
			turn := make(chan struct{}, 1)
			s := stepping(t, b, []step{{100_000, c.cut}, {100_000, false}}, turn)
			defer close(turn)
			ctx, cancel := context.WithCancelCause(hurry(t))
			defer cancel(nil)
			r, err := client(t, Config{}).Get(ctx, s.url(t), 0, b.Size)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close() //nolint:errcheck // it has failed
			turn <- struct{}{}
			why := errors.New("enough")
			for n := int64(0); err == nil && r.Movable(); {
				if n == 100_000 && !c.cut {
					time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
				}
				var k int64
				k, err = r.Move(&reader{}, 1<<20)
				n += k
			}
			if want := map[bool]error{true: io.ErrUnexpectedEOF, false: why}[c.cut]; !errors.Is(err, want) {
				t.Errorf("%v, want %v", err, want)
			}
			if r.Movable() {
				t.Error("movable after its end")
			}
		})
	}
}
