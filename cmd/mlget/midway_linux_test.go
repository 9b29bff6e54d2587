package main_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/linklab"
)

// startNamed starts a download of the lab's body by the name files.test, which this
// name server knows.
func (l *lab) startNamed(t *testing.T, port uint16, s *nameServer) *running {
	t.Helper()
	conn, err := l.ListenPacket(port)
	check(t, err)
	s.conn = conn
	s.start(t)
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	args := []string{"-o", "out.bin", "--record", "record.jsonl", "--timeout", "3s", "--connect-timeout", "3s"}
	for _, link := range l.Links() {
		args = append(args, "--link", fmt.Sprintf("%s,dns=192.0.2.1:%d", link, port))
	}
	r := &running{Cmd: l.command(ctx, append(args, strings.Replace(l.URL(), "192.0.2.1", "files.test", 1))...)}
	r.Stderr = &r.stderr
	check(t, r.Start())
	return r
}

// TestNameServerDies: who knows where the server is needs no name server any more, not
// even when every connection has to be made again.
func TestNameServerDies(t *testing.T) {
	for i, c := range []struct {
		name string
		dead func(m *dnsmessage.Message) []byte
	}{
		{"silent", func(*dnsmessage.Message) []byte { return nil }},
		{"no such name", func(m *dnsmessage.Message) []byte {
			m.RCode = dnsmessage.RCodeNameError
			return answered(m)
		}},
		{"a failure", func(m *dnsmessage.Message) []byte {
			m.RCode = dnsmessage.RCodeServerFailure
			return answered(m)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, linklab.Config{Size: 20e6}, "wlan0,down=12,rtt=10", "rmnet0,down=12,rtt=30") // for six seconds
			var died atomic.Bool
			r := l.startNamed(t, uint16(5300+i), &nameServer{address: [4]byte{192, 0, 2, 1}, lie: func(m *dnsmessage.Message) ([]byte, bool) {
				if !died.Load() {
					return nil, false
				}
				return c.dead(m), true
			}})
			l.waitFor(t, 2e6)
			died.Store(true)
			time.Sleep(1500 * time.Millisecond) // its answers were good for a second
			happen(t, l, "rmnet0 gone")
			happen(t, l, "rmnet0 back")
			r.end(t).want(t, 0)
			l.wantBody(t)
		})
	}
}

// TestIPv6Dies: where a server has addresses of both families, losing one of them
// costs connections and no more.
func TestIPv6Dies(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 20e6}, slowWiFi, slowLTE)
	there := &dnsmessage.AAAAResource{AAAA: [16]byte{0x20, 0x01, 0x0d, 0xb8, 15: 1}}
	r := l.startNamed(t, 5310, &nameServer{address: [4]byte{192, 0, 2, 1}, lie: func(m *dnsmessage.Message) ([]byte, bool) {
		return answered(m, there), m.Questions[0].Type == dnsmessage.TypeAAAA
	}})
	l.waitFor(t, 4e6)
	check(t, l.InClient(func() error {
		for _, link := range l.Links() {
			if err := os.WriteFile("/proc/sys/net/ipv6/conf/"+link+"/disable_ipv6", []byte("1"), 0); err != nil {
				return err
			}
		}
		return nil
	}))
	r.end(t).want(t, 0)
	l.wantBody(t)
	six, four := 0, 0
	for _, e := range l.events(t) {
		if c, ok := e.(event.ConnOpened); ok && strings.HasPrefix(c.Remote, "[") {
			six++
		} else if ok {
			four++
		}
	}
	if six == 0 || four == 0 {
		t.Errorf("%d connections over IPv6, %d over IPv4", six, four)
	}
}
