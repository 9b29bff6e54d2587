package main_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// nameServer knows files.test, which is this machine, and broken.test, of which
// it can say nothing now; no other name exists.
type nameServer struct {
	conn    net.PacketConn
	asked   atomic.Int64
	address [4]byte // of files.test
	// lie may answer in its own way; false: as usual. nil: it never does.
	lie func(m *dnsmessage.Message) (answer []byte, lied bool)
}

func newNameServer(t testing.TB) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{conn: conn, address: [4]byte{127, 0, 0, 1}}
	s.start(t)
	return s
}

// start serves until the test's end.
func (s *nameServer) start(t testing.TB) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.run()
	}()
	t.Cleanup(func() {
		_ = s.conn.Close() // which ends run
		<-ended
	})
}

func (s *nameServer) run() {
	packet := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(packet)
		if err != nil {
			return
		}
		s.asked.Add(1)
		var m dnsmessage.Message
		if m.Unpack(packet[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
		q := m.Questions[0]
		if s.lie != nil {
			if answer, lied := s.lie(&m); lied {
				_, _ = s.conn.WriteTo(answer, from)
				continue
			}
		}
		switch q.Name.String() {
		case "files.test.":
			if q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 60},
					Body:   &dnsmessage.AResource{A: s.address},
				}}
			}
		case "broken.test.":
			m.RCode = dnsmessage.RCodeServerFailure
		default:
			m.RCode = dnsmessage.RCodeNameError
		}
		if answer, err := m.Pack(); err == nil {
			_, _ = s.conn.WriteTo(answer, from)
		}
	}
}

// TestNames: a link's name server is asked, and believed at once when it says
// that there is no such host.
func TestNames(t *testing.T) {
	s, names := newSite(t), newNameServer(t)
	dns := fmt.Sprintf("%s,dns=%s", loopback(), names.conn.LocalAddr())
	dir := t.TempDir()
	url := strings.Replace(s.clear.URL, "127.0.0.1", "files.test", 1)
	mlget(t, dir, "--link", dns, url+"/ranges/1000/a.bin").want(t, 0)
	if names.asked.Load() == 0 {
		t.Error("nobody asked the name server")
	}
	names.asked.Store(0)
	mlget(t, dir, "--link", dns, "http://missing.test/x").want(t, 4, "^mlget: .*no such host: missing.test$", "^mlget: hint: ")
	if n := names.asked.Load(); n > 4 {
		t.Errorf("%d questions for a name that does not exist", n)
	}
}

// TestNameServerIsLost: where the server is, is known when every connection has to be made
// again.
func TestNameServerIsLost(t *testing.T) {
	var lost atomic.Bool
	names := &nameServer{address: [4]byte{127, 0, 0, 1}, lie: func(m *dnsmessage.Message) ([]byte, bool) {
		if !lost.Load() {
			return nil, false
		}
		m.RCode = dnsmessage.RCodeServerFailure
		text, _ := m.Pack() // nil is no answer either
		return text, true
	}}
	var err error
	if names.conn, err = net.ListenPacket("udp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	names.start(t)
	b := body(3e6, "")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lost.Store(true)
		w.Header().Set("Etag", `"v"`)
		http.ServeContent(&breaking{w, 1e6}, r, "", modified(), b.Reader())
	}))
	t.Cleanup(s.Close)
	dir := t.TempDir()
	url := strings.Replace(s.URL, "127.0.0.1", "files.test", 1)
	mlget(t, dir, "--link", fmt.Sprintf("%s,dns=%s", loopback(), names.conn.LocalAddr()), "-o", "out.bin", url).want(t, 0)
	wantFile(t, filepath.Join(dir, "out.bin"), b.Size, "")
}

// breaking is a response whose connection breaks after so many bytes.
type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		panic(http.ErrAbortHandler)
	}
	return b.ResponseWriter.Write(p)
}

// TestNameServerIsBroken: a name that cannot be resolved is no reason to wait
// for minutes before the first byte; wget and curl give up at once.
func TestNameServerIsBroken(t *testing.T) {
	names := newNameServer(t)
	dns := fmt.Sprintf("%s,dns=%s", loopback(), names.conn.LocalAddr())
	mlget(t, t.TempDir(), "--link", dns, "http://broken.test/x").want(t, 4, "^mlget: .*broken.test", "^mlget: hint: ")
}

// TestNamesOfAList: names that do not resolve cost a list's other files nothing, and are
// given up as soon as one alone is.
func TestNamesOfAList(t *testing.T) {
	s, names := newSite(t), newNameServer(t)
	dns := fmt.Sprintf("%s,dns=%s", loopback(), names.conn.LocalAddr())
	good := strings.Replace(s.clear.URL, "127.0.0.1", "files.test", 1)
	dir := t.TempDir()
	var list strings.Builder
	for i := range 8 {
		fmt.Fprintf(&list, "http://missing%d.test/x%d\n", i, i)
	}
	list.WriteString("http://broken.test/x\n")
	for i := range 5 {
		fmt.Fprintf(&list, "%s/ranges/%d\n", good, 1000+i)
	}
	if err := os.WriteFile(filepath.Join(dir, "list"), []byte(list.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	mlget(t, dir, "-t", "2", "--link", dns, "-i", "list").want(t, 4,
		"^mlget: .*/missing0.test/x0: no such host: missing0.test$", "^mlget: .*/missing7.test/x7: no such host: missing7.test$",
		`^mlget: .*/broken.test/x: .*broken.test`, "^mlget: hint: ")
	for i := range 5 {
		wantFile(t, filepath.Join(dir, fmt.Sprint(1000+i)), int64(1000+i), "")
	}
	began := time.Now()
	mlget(t, dir, "--link", dns, "http://broken.test/x", "http://broken.test/y", "http://missing.test/z").want(t, 4, "^mlget: .*broken.test/y", "^mlget: .*missing.test/z")
	if took := time.Since(began); took > 30*time.Second { // tried again and again it would take minutes
		t.Errorf("bad names alone took %v", took)
	}
}
