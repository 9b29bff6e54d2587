package metrics

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlget/mlget/internal/event/eventtest"
)

// memory is a listener without a kernel, at an address.
type memory struct {
	at    net.Addr
	conns chan net.Conn
	over  chan struct{}
	once  sync.Once
}

func newMemory(at string) *memory {
	addr, err := net.ResolveTCPAddr("tcp", at)
	if err != nil {
		panic(err)
	}
	return &memory{at: addr, conns: make(chan net.Conn, 1000), over: make(chan struct{})}
}

func (m *memory) Addr() net.Addr { return m.at }

func (m *memory) Close() error {
	m.once.Do(func() { close(m.over) })
	return nil
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.over:
		return nil, net.ErrClosed
	}
}

// dial is a client's end of a new connection.
func (m *memory) dial() net.Conn {
	client, server := net.Pipe()
	m.conns <- server
	return client
}

const scrape = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"

// status is the status of an answer whose page is read to its end.
func status(conn net.Conn) (int, error) {
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodGet})
	if err != nil {
		return 0, err
	}
	defer res.Body.Close() //nolint:errcheck // it is a test's
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// TestSlowScrapersKeepNobodyOut: clients that do not send their request, or do not read the
// answer, delay others only briefly.
func TestSlowScrapersKeepNobodyOut(t *testing.T) {
	for name, says := range map[string]string{"silent": "", "half a request": scrape[:20], "does not read": scrape} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemory("127.0.0.1:9090")
				s := serve(m, after(eventtest.TwoLinks()))
				defer s.Close()
				var slow []net.Conn
				for range 40 {
					conn := m.dial()
					slow = append(slow, conn)
					go io.WriteString(conn, says) //nolint:errcheck // it is cut off
				}
				good := m.dial()
				began := time.Now()
				go io.WriteString(good, scrape) //nolint:errcheck // the answer says so
				code, err := status(good)
				if took := time.Since(began); code != http.StatusOK || err != nil || took >= time.Second {
					t.Errorf("%d, %v, after %v", code, err, took)
				}
				for _, conn := range slow {
					_ = conn.Close()
				}
			})
		})
	}
}

// TestManyScrapersAtOnce: connections are bounded, and all well-behaved clients are answered.
func TestManyScrapersAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("127.0.0.1:9090")
		s := serve(m, after(eventtest.TwoLinks()))
		defer s.Close()
		var all sync.WaitGroup
		for range 5 * maxConns {
			conn := m.dial()
			all.Go(func() {
				time.Sleep(100 * time.Millisecond) // the way there
				go io.WriteString(conn, scrape)    //nolint:errcheck // the answer says so
				if code, err := status(conn); code != http.StatusOK || err != nil {
					t.Error(code, err)
				}
			})
		}
		all.Wait()
	})
}

func TestCrowdIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory("127.0.0.1:9090")
		c := newCrowd(m, 3)
		var taken []net.Conn
		for range 3 {
			m.dial()
			conn, err := c.Accept()
			if err != nil {
				t.Fatal(err)
			}
			taken = append(taken, conn)
		}
		// One that leaves makes room at once, twice is once.
		began := time.Now()
		time.AfterFunc(50*time.Millisecond, func() {
			_ = taken[1].Close()
			_ = taken[1].Close()
		})
		m.dial()
		if _, err := c.Accept(); err != nil || time.Since(began) != 50*time.Millisecond {
			t.Errorf("%v, after %v", err, time.Since(began))
		}
		// Else the oldest does when it has had its time.
		m.dial()
		if _, err := c.Accept(); err != nil || time.Since(began) != patience {
			t.Errorf("%v, after %v", err, time.Since(began))
		}
		if _, err := taken[0].Read(make([]byte, 1)); err == nil || len(c.guests) != 3 {
			t.Errorf("the oldest is still there, among %d", len(c.guests))
		}
		// At the end no connection waits.
		c = newCrowd(m, 1)
		m.dial()
		if _, err := c.Accept(); err != nil {
			t.Fatal(err)
		}
		m.dial()
		time.AfterFunc(time.Millisecond, func() { _ = c.Close() })
		if _, err := c.Accept(); err == nil {
			t.Error("a connection after the end")
		}
	})
}

// TestHostsOnLoopback: a browser that has been led to a loopback address by a name of another's
// gets nothing (DNS rebinding).
func TestHostsOnLoopback(t *testing.T) {
	get := func(at, host string) int {
		m := newMemory(at)
		s := serve(m, after(eventtest.TwoLinks()))
		defer s.Close()
		conn := m.dial()
		go io.WriteString(conn, strings.Replace(scrape, "localhost", host, 1)) //nolint:errcheck // the answer says so
		code, err := status(conn)
		if err != nil {
			t.Errorf("%s at %s: %v", host, at, err)
		}
		return code
	}
	local := []string{"localhost", "LOCALHOST:9090", "localhost.", "127.0.0.1", "127.0.0.1:9090", "127.1.2.3:1", "[::1]", "[::1]:9090", "[::ffff:127.0.0.1]:9090"}
	others := []string{"evil.example", "evil.example:9090", "localhost.evil.example", "127.0.0.1.evil.example:9090", "evillocalhost", "128.0.0.1:9090", "0.0.0.0:9090", "[::2]:9090", "192.168.1.7"}
	for _, at := range []string{"127.0.0.1:9090", "127.0.0.5:9090", "[::1]:9090"} {
		for _, host := range local {
			if code := get(at, host); code != http.StatusOK {
				t.Errorf("%s at %s: %d", host, at, code)
			}
		}
		for _, host := range others {
			if code := get(at, host); code != http.StatusMisdirectedRequest {
				t.Errorf("%s at %s: %d", host, at, code)
			}
		}
	}
	for _, at := range []string{"0.0.0.0:9090", "[::]:9090", "192.168.1.7:9090"} {
		for _, host := range append(local, others...) {
			if code := get(at, host); code != http.StatusOK {
				t.Errorf("%s at %s: %d", host, at, code)
			}
		}
	}
}
