package fetch

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// refuser is a server that answers requests for ranges in a way of its own, and says which
// requests came: "r" with Range, "p" without.
type refuser struct {
	body   testbody.Body
	ranged func(w http.ResponseWriter, r *http.Request)

	mu   sync.Mutex
	seen strings.Builder
}

func (s *refuser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	with := r.Header.Get("Range") != ""
	s.seen.WriteString(map[bool]string{true: "r", false: "p"}[with])
	ranged := s.ranged
	s.mu.Unlock()
	if with && ranged != nil {
		ranged(w, r)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, s.body.Reader())
}

// asked is which requests came since the last time.
func (s *refuser) asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen.String()
	s.seen.Reset()
	return seen
}

// firstly is the first request for an object; it reads what comes.
func firstly(t *testing.T, c *Client, s *httptest.Server) (whole bool, got []byte, err error) {
	t.Helper()
	turn := c.Turn(parse(t, s.URL+"/f"))
	turn.First = true
	r, err := turn.Get(t.Context(), 0, 1<<20)
	if err != nil {
		return false, nil, err
	}
	defer func() { _ = r.Close() }()
	got, err = io.ReadAll(r)
	return r.Whole, got, err
}

func TestARefusedRangeIsRequestedWithoutRange(t *testing.T) {
	status := func(code int) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	part := func(contentRange, kind string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			if contentRange != "" {
				w.Header().Set("Content-Range", contentRange)
			}
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Length", "5000")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(make([]byte, 5000))
		}
	}
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for _, c := range []struct {
		name   string
		ranged func(http.ResponseWriter, *http.Request)
		asked  [3]string // by three downloads over a new client each, which share what they know
		fails  int       // so many of them do
	}{
		{"ranges", nil, [3]string{"r", "r", "r"}, 0},
		{"400", status(400), [3]string{"rp", "p", "p"}, 0},
		{"403", status(403), [3]string{"rp", "p", "p"}, 0},
		{"405", status(405), [3]string{"rp", "p", "p"}, 0},
		{"501", status(501), [3]string{"rp", "p", "p"}, 0},
		{"several parts", part("", "multipart/byteranges; boundary=x"), [3]string{"rp", "p", "p"}, 0},
		{"no content-range", part("", "text/plain"), [3]string{"rp", "p", "p"}, 0},
		{"other bytes", part("bytes 100-5099/9000", "text/plain"), [3]string{"rp", "p", "p"}, 0},
		{"other unit", part("items 0-4999/5000", "text/plain"), [3]string{"rp", "p", "p"}, 0},
		{"longer than its range", part("bytes 0-99/5000", "text/plain"), [3]string{"rp", "p", "p"}, 0},
		// What may pass is the caller's to try again; the third request goes without.
		{"500", status(500), [3]string{"r", "r", "p"}, 2},
		{"hung up", hangUp, [3]string{"r", "r", "p"}, 2},
		// Nothing that has to do with ranges.
		{"401", status(401), [3]string{"r", "r", "r"}, 3},
		{"404", status(404), [3]string{"r", "r", "r"}, 3},
		{"429", status(429), [3]string{"r", "r", "r"}, 3},
		{"503", status(503), [3]string{"r", "r", "r"}, 3},
	} {
		for _, two := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/h2 %v", c.name, two), func(t *testing.T) {
				s := &refuser{body: testbody.Body{Size: 5000, Seed: 3}, ranged: c.ranged}
				srv := httptest.NewUnstartedServer(s)
				srv.Config.ErrorLog = quiet()
				cfg := Config{Peers: NewPeers()}
				if two {
					srv.Config.Protocols = new(http.Protocols)
					srv.Config.Protocols.SetUnencryptedHTTP2(true)
					cfg.Protocol = HTTP2PriorKnowledge
				}
				srv.Start()
				defer srv.Close()
				fails := 0
				for i, want := range c.asked {
					whole, got, err := firstly(t, client(t, cfg), srv)
					if err != nil {
						fails++
					} else if sum(got) != sum(part0(t, s.body)) || whole != (c.name != "ranges") {
						t.Errorf("%d bytes, whole: %v", len(got), whole)
					}
					if asked := s.asked(); asked != want {
						t.Errorf("download %d: asked %q, want %q (%v)", i, asked, want, err)
					}
				}
				if fails != c.fails {
					t.Errorf("%d failed, want %d", fails, c.fails)
				}
			})
		}
	}
}

func part0(t *testing.T, b testbody.Body) []byte { return part(t, b, 0, b.Size) }

// What refuses an object with and without Range is not about ranges: after a few such, nothing
// is asked for twice. A server that has served a range is not asked for whole objects at once.
func TestRefusedRangesAreRemembered(t *testing.T) {
	s := &refuser{body: testbody.Body{Size: 5000, Seed: 3}, ranged: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }}
	forbids := true
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		denied := forbids && r.Header.Get("Range") == ""
		if denied {
			s.seen.WriteString("p")
		}
		s.mu.Unlock()
		if denied {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		s.ServeHTTP(w, r)
	}))
	defer srv.Close()
	c := client(t, Config{})
	for i, want := range []string{"rp", "rp", "rp", "r", "r"} {
		if _, _, err := firstly(t, c, srv); err == nil {
			t.Error("no error")
		}
		if asked := s.asked(); asked != want {
			t.Errorf("download %d: asked %q, want %q", i, asked, want)
		}
	}
	// That it forbids objects, perhaps since there are too many requests, does not speak against
	// asking without Range for what it sends wrongly.
	s.mu.Lock()
	s.ranged = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusPartialContent) }
	s.mu.Unlock()
	for range refusedMost + 1 {
		if _, _, err := firstly(t, c, srv); err == nil {
			t.Error("no error")
		}
		if asked := s.asked(); asked != "rp" {
			t.Errorf("asked %q", asked)
		}
	}
	s.mu.Lock()
	s.ranged, forbids = nil, false
	s.mu.Unlock()
	if got := must(t, c, parse(t, srv.URL+"/f"), 0, 100); len(got) != 100 || s.asked() != "r" {
		t.Error("no range was asked for, or none came")
	}
	s.mu.Lock()
	s.ranged = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) }
	s.mu.Unlock()
	_, over := c.cfg.Peers.habits(originOf(parse(t, srv.URL)), c.trace)
	over.refused = 0
	for range 2 { // objects that are refused in ranges, of a server that serves others so
		if whole, _, err := firstly(t, c, srv); err != nil || !whole || s.asked() != "rp" {
			t.Errorf("whole: %v, %v", whole, err)
		}
	}
	// Any request but the first of an object is for a range, come what may.
	if e := mustFail(t, c, parse(t, srv.URL+"/f"), 0, 100); e.Status != 400 || s.asked() != "r" {
		t.Errorf("%v", e)
	}
	none := client(t, Config{NoRange: true})
	r, err := none.Get(t.Context(), parse(t, srv.URL+"/f"), 100, 200)
	if err != nil || !r.Whole || r.Off != 0 || r.Object.AcceptsRanges || s.asked() != "p" {
		t.Fatalf("%+v, %v", r, err)
	}
	_ = r.Close()
}
