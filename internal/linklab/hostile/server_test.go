package hostile

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mlget/mlget/internal/testbody"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const size = 1 << 18

func bodies() (one, other testbody.Body) {
	return testbody.Body{Size: size}, testbody.Body{Size: size - 1000, Seed: 99}
}

// start makes a server with a fault that hits every answer, in clear or over TLS.
func start(t *testing.T, f Fault, g *Gate, secure bool) (s *Server, base string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Fault: f, Gate: g}
	c.Body, c.Other = bodies()
	if secure {
		borrowed := httptest.NewUnstartedServer(nil)
		borrowed.StartTLS()
		c.TLS = borrowed.TLS.Clone()
		borrowed.Close()
		c.TLS.NextProtos = nil
		c.Renewed, c.Bad = c.TLS.Certificates[0], c.TLS.Certificates[0]
		s = Start(c, nil, l)
		base = "https://" + l.Addr().String()
	} else {
		s = Start(c, l, nil)
		base = "http://" + l.Addr().String()
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, base
}

// client speaks one of the two protocols.
func client(t *testing.T, two bool) *http.Client {
	p := &http.Protocols{}
	p.SetHTTP1(!two)
	p.SetHTTP2(two)
	tr := &http.Transport{
		Protocols: p, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		MaxResponseHeaderBytes: 1 << 16, DisableCompression: true,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: long}
}

// got is an answer whose body has been read as far as it goes.
type got struct {
	*http.Response
	body []byte
	err  error
}

// How long an answer may take, of a good server and of one that may never end.
const (
	long  = 20 * time.Second
	short = 300 * time.Millisecond
)

func get(ctx context.Context, c *http.Client, url, rang string) got {
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	return fetch(ctx, c, url, rang)
}

func fetch(ctx context.Context, c *http.Client, url, rang string) got {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return got{err: err}
	}
	if rang != "" {
		req.Header.Set("Range", rang)
	}
	resp, err := c.Do(req)
	if err != nil {
		return got{err: err}
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end, or broken
	b, err := io.ReadAll(resp.Body)
	return got{resp, b, err}
}

// right says whether an answer is the range that was asked for.
func (g got) right(b testbody.Body, off, end int64) error {
	want := make([]byte, end-off)
	_, _ = b.ReadAt(want, off) // its end is no error
	switch {
	case g.err != nil:
		return g.err
	case g.StatusCode != http.StatusPartialContent:
		return fmt.Errorf("status %d", g.StatusCode)
	case g.Header.Get("Content-Range") != fmt.Sprintf("bytes %d-%d/%d", off, end-1, b.Size):
		return fmt.Errorf("content-range %q", g.Header.Get("Content-Range"))
	case g.Header.Get("Content-Encoding") != "" || g.Header.Get("Etag") != etag(b):
		return fmt.Errorf("header %v", g.Header)
	case !slices.Equal(g.body, want):
		return errors.New("wrong bytes")
	}
	return nil
}

// A kind that strikes must be seen by somebody who checks everything, and when it
// is over the answers must be right.
func TestEveryKindStrikesAndHeals(t *testing.T) {
	for _, k := range Kinds() {
		for _, two := range []bool{false, true} {
			if two && !k.HTTP2 || !two && !k.HTTP1 {
				continue
			}
			t.Run(fmt.Sprintf("%s/two=%v", k.Kind, two), func(t *testing.T) {
				t.Parallel()
				s, base := start(t, Fault{Kind: k.Kind}, nil, two || k.TLS)
				const off, end = 1000, 200000
				path := Path(0)
				if k.Kind == Expiring {
					path = ExpiringPath(0)
				}
				seen := false
				for range keyRequests + 2 {
					ctx, cancel := context.WithCancel(t.Context())
					go func() { // what may never end has a while from the strike on
						for ctx.Err() == nil && s.Struck() == 0 {
							time.Sleep(time.Millisecond)
						}
						time.Sleep(short)
						cancel()
					}()
					g := get(ctx, client(t, two), base+path, fmt.Sprintf("bytes=%d-%d", off, end-1))
					cancel()
					seen = seen || g.right(s.cfg.Body, off, end) != nil
					if seen || k.Kind == Expiring && g.StatusCode != http.StatusPartialContent {
						break
					}
				}
				if good := slices.Contains([]Kind{
					Interim, ChunkedPart, CloseEach, HTTP10, CloseSilently, GarbageAfter, OverLength, WindowPadding,
					WindowOverrun, GoAway, RefuseMore, ResetMore, EdgeURL, OtherCert, BadCert, SameLengthTwice, ChunksAndLength,
					SpacedHeader, TwoRanges, BigSettings, NoStreams, UnknownFrames, Trailers, ZeroUpdate, WindowOverflow, Slow,
					RangeCase, Identity, RetryOdd, RedirectOdd, RedirectCookie, BareLF, Folded, NoReason, LengthSpaces, InterimLies, ChunkExtensions,
					ChunkDust, HeaderCrumbs, SettingsZero, GoAwayLower, GoAwayTwice, ResetAfterEnd, LateData, HangUp, NoHandshake,
					NoSettings, Swapped, OneConnection,
				}, k.Kind); !seen && !good {
					t.Error("nobody would have noticed")
				}
				if s.Struck() == 0 && k.Kind != RefuseMore && k.Kind != ResetMore {
					t.Error("it has not struck")
				}
				s.Heal()
				if err := get(t.Context(), client(t, two), base+path, fmt.Sprintf("bytes=%d-%d", off, end-1)).right(s.Object(0), off, end); err != nil {
					t.Errorf("after it was healed: %v", err)
				}
			})
		}
	}
}

func TestFaultsKeepTheirPlaceTimesAndEdge(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault Fault
		want  []bool // which of the requests for a quarter each are answered rightly
	}{
		{"none", Fault{}, []bool{true, true, true, true}},
		{"always", Fault{Kind: Status500}, []bool{false, false, false, false}},
		{"once", Fault{Kind: Status500, Times: 1}, []bool{false, true, true, true}},
		{"later", Fault{Kind: Status500, Times: 2, At: size / 2}, []bool{true, false, false, true}},
		{"others", Fault{Kind: Status500, Edge: netip.MustParsePrefix("10.0.0.0/8")}, []bool{true, true, true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, base := start(t, c.fault, nil, false)
			cl := client(t, false)
			for i, want := range c.want {
				off, end := int64(i)*size/4, int64(i+1)*size/4
				if i == 1 && c.name == "later" { // up to the place, in one go
					off, end = size/4, size/2+1
					g := get(t.Context(), cl, base+Path(0), fmt.Sprintf("bytes=%d-%d", off, end-1))
					if g.err == nil && g.right(s.cfg.Body, off, end) == nil {
						t.Error("what crosses the place was not cut")
					}
				}
				err := get(t.Context(), cl, base+Path(0), fmt.Sprintf("bytes=%d-%d", off, end-1)).right(s.cfg.Body, off, end)
				if (err == nil) != want {
					t.Errorf("request %d: %v", i, err)
				}
			}
		})
	}
}

func TestGateStopsTheServerUntilItIsOpened(t *testing.T) {
	local := netip.MustParsePrefix("127.0.0.0/8")
	for _, c := range []struct {
		place  Place
		path   string
		secure bool
	}{
		{PlaceTLS, Path(0), true},
		{PlaceRedirect, RedirectPath(0), false},
		{PlaceStart, Path(0), false},
		{PlaceMiddle, Path(0), false},
		{PlaceTail, Path(0), true},
	} {
		t.Run(string(c.place), func(t *testing.T) {
			g := NewGate(c.place, size/2, local)
			s, base := start(t, Fault{}, g, c.secure)
			ctx, cancel := context.WithCancel(t.Context())
			answer := make(chan got)
			go func() { answer <- fetch(ctx, client(t, false), base+c.path, "bytes=0-249999") }()
			select {
			case <-g.Reached():
			case <-time.After(long):
				t.Error("the place was not reached")
			}
			time.AfterFunc(short, cancel)
			if err := (<-answer).err; err == nil {
				t.Error("the server has not waited")
			}
			g.Open()
			if err := get(t.Context(), client(t, false), base+c.path, "bytes=0-999").right(s.cfg.Body, 0, 1000); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestResetEndsConnections(t *testing.T) {
	s, base := start(t, Fault{}, nil, false)
	c, err := net.Dial("tcp", base[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // it is reset
	for len(s.conns.matching(netip.Prefix{})) == 0 {
		time.Sleep(time.Millisecond)
	}
	s.Reset(netip.MustParsePrefix("10.0.0.0/8"))
	if len(s.conns.matching(netip.Prefix{})) != 1 {
		t.Fatal("it was somebody else's")
	}
	s.Reset(netip.MustParsePrefix("127.0.0.0/8"))
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("%v instead of a reset", err)
	}
}

func TestSwappedAnswersTheRequestBefore(t *testing.T) {
	s, base := start(t, Fault{Kind: Swapped}, nil, false)
	cl := client(t, false)
	for i, want := range [][2]int64{{0, 1000}, {0, 1000}, {5000, 6000}} {
		off := int64(i) * 5000
		if err := get(t.Context(), cl, base+Path(0), fmt.Sprintf("bytes=%d-%d", off, off+999)).right(s.cfg.Body, want[0], want[1]); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
}
