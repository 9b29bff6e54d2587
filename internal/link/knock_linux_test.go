package link

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// deaf listens on an address whose system takes one connection until accept is called,
// and drops the first packets of all others.
func deaf(t *testing.T) (to netip.AddrPort, accept func()) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	t.Cleanup(func() { must(t, unix.Close(fd)) })
	must(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	must(t, unix.Listen(fd, 0))
	name, err := unix.Getsockname(fd)
	must(t, err)
	port := name.(*unix.SockaddrInet4).Port
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(port)), func() {
		conn, _, err := unix.Accept(fd)
		must(t, err)
		must(t, unix.Close(conn))
	}
}

// trying is how many sockets of this machine wait for an answer from to.
func trying(t *testing.T, to netip.AddrPort) int {
	t.Helper()
	const synSent = "02"             // include/net/tcp_states.h
	waiting := make(map[string]bool) // by their own address: a table that changes may tell one twice
	f, err := os.Open("/proc/self/net/tcp")
	must(t, err)
	defer closing(t, f)
	ip := to.Addr().As4()
	peer := fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(ip[:]), to.Port())
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if field := strings.Fields(lines.Text()); len(field) > 3 && field[2] == peer && field[3] == synSent {
			waiting[field[1]] = true
		}
	}
	return len(waiting)
}

// waitTrying waits until n sockets do, and fails if more do: a busy machine may take its
// time for each, and a table that changes while it is read may leave one out.
func waitTrying(t *testing.T, to netip.AddrPort, n int) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		now := trying(t, to)
		if now == n {
			return
		}
		if now > n && n > 0 || time.Now().After(until) {
			t.Fatalf("%d sockets try, want %d", now, n)
		}
	}
}

// dialed is what a dial in the background comes to.
func dialed(ctx context.Context, l *Link, to netip.AddrPort) <-chan attempt[net.Conn] {
	result := make(chan attempt[net.Conn], 1)
	go func() {
		conn, err := l.DialContext(ctx, "tcp", to.String())
		result <- attempt[net.Conn]{conn, err}
	}()
	return result
}

// A first packet that is lost is not waited for by the system alone where it is known how
// soon the link answers; and one socket is all that stays.
func TestExtraSocketsAfterALostSYN(t *testing.T) {
	to, accept := deaf(t)
	l := loopback(t, Options{ConnectTimeout: time.Minute})
	first := <-dialed(t.Context(), l, to)
	must(t, first.err)
	defer closing(t, first.value)
	second := dialed(t.Context(), l, to)
	waitTrying(t, to, knocks)
	time.Sleep(stagger)
	waitTrying(t, to, knocks)
	accept()
	won := <-second
	must(t, won.err)
	defer closing(t, won.value)
	waitTrying(t, to, 0)
}

// Of a link that has not answered yet it is not known whether its answer is late.
func TestNoExtraSocketsBeforeTheFirstAnswer(t *testing.T) {
	to, _ := deaf(t)
	filled, err := net.Dial("tcp", to.String())
	must(t, err)
	defer closing(t, filled)
	ctx, cancel := context.WithCancel(t.Context())
	result := dialed(ctx, loopback(t, Options{}), to)
	waitTrying(t, to, 1)
	time.Sleep(2 * stagger)
	waitTrying(t, to, 1)
	cancel()
	if r := <-result; r.err == nil {
		closing(t, r.value)
		t.Error("connected")
	}
}

// A refusal is final: no other socket tries.
func TestARefusedConnectionIsNotRetried(t *testing.T) {
	listener := listen(t, "tcp4", "127.0.0.1:0")
	to := listener.Addr().(*net.TCPAddr).AddrPort()
	l := loopback(t, Options{})
	first := <-dialed(t.Context(), l, to)
	must(t, first.err)
	closing(t, first.value)
	closing(t, listener)
	var asked atomic.Int64
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		ConnectStart: func(string, string) { asked.Add(1) },
	})
	if r := <-dialed(ctx, l, to); !errors.Is(r.err, unix.ECONNREFUSED) || asked.Load() != 1 {
		t.Errorf("%+v after %d connects", r, asked.Load())
	}
}
