package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// partFetcher is a Spreader that asks the server itself.
type partFetcher struct {
	mu    sync.Mutex
	parts []Part

	transport http.RoundTripper // nil: one of each part's own
	fail      int64             // after so many bytes it fails; 0: never
}

func (f *partFetcher) CanSpread(answer http.Header, _ int64) bool {
	return strings.HasPrefix(answer.Get("Etag"), `"`)
}

func (f *partFetcher) Spread(ctx context.Context, p *Part, w io.Writer) error {
	f.mu.Lock()
	f.parts = append(f.parts, *p)
	f.mu.Unlock()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL.String(), nil)
	if err != nil {
		return err
	}
	r.Header = p.Request.Clone()
	r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", p.Off, p.End-1))
	transport := f.transport
	if transport == nil {
		transport = &http.Transport{DisableKeepAlives: true}
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode != http.StatusPartialContent {
		return fmt.Errorf("%s", resp.Status)
	}
	body := io.Reader(resp.Body)
	if f.fail > 0 {
		body = io.MultiReader(io.LimitReader(body, f.fail), failing{})
	}
	_, err = io.Copy(w, body)
	return err
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func (f *partFetcher) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.parts)
}

// slow answers at 10 MB/s or so.
type slow struct{ http.ResponseWriter }

func (w slow) Write(p []byte) (int, error) {
	time.Sleep(3 * time.Millisecond)
	return w.ResponseWriter.Write(p)
}

const largeSize = 9<<20 + 7

// large serves objects with and without what it takes to spread them.
func large(t *testing.T, secure bool) *httptest.Server {
	t.Helper()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := testbody.Body{Size: largeSize, Seed: 5}
		switch r.URL.Path {
		case "/large", "/cookie":
			if r.Header.Get("X-Want") != "" {
				w.Header().Set("X-Had", r.Header.Get("Cookie")+"|"+r.Header.Get("X-Want"))
			}
			w.Header().Set("Set-Cookie", "a=b")
			w.Header().Set("Etag", `"v1"`)
		case "/slow":
			w.Header().Set("Etag", `"v1"`)
			w = slow{w}
		case "/unproven":
		case "/moved":
			http.Redirect(w, r, "/large?x=1", http.StatusFound)
			return
		case "/away":
			http.Redirect(w, r, "https://example.org:444/there?a=b#c", http.StatusMovedPermanently)
			return
		case "/small":
			w.Header().Set("Etag", `"v1"`)
			body.Size = 1000
		case "/norange":
			w.Header().Set("Etag", `"v1"`)
			w.Header().Set("Content-Length", strconv.Itoa(largeSize))
			_, _ = io.Copy(w, body.Reader())
			return
		}
		http.ServeContent(w, r, "", time.Unix(1e9, 0), body.Reader())
	})
	s := httptest.NewUnstartedServer(handler)
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(func() { // under wine a write does not always see that its client has gone
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

func answerTo(t *testing.T, c *http.Client, method, url string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(b), err}
}

// TestSpreadAnswersAreTheServersOwn: through the proxy, a client gets the same answer as
// from the server itself, whether it is spread or not.
func TestSpreadAnswersAreTheServersOwn(t *testing.T) {
	server := large(t, false)
	f := new(partFetcher)
	s, addr := start(t, Config{Placement: Measured, Spreader: f, SpreadFrom: 4 << 20}, &wire{name: "a"}, &wire{name: "b"})
	direct, through := &http.Client{Transport: &http.Transport{DisableCompression: true}}, clientThrough(t, addr, "")
	for _, test := range []struct {
		name, method, path string
		header             []string
		spread             bool
	}{
		{"all of it", "GET", "/large", nil, true},
		{"the header alone", "HEAD", "/large", nil, false},
		{"from a byte on", "GET", "/large", []string{"Range", "bytes=4000000-"}, true},
		{"a large range", "GET", "/large", []string{"Range", "bytes=1-5000000"}, true},
		{"a small range", "GET", "/large", []string{"Range", "bytes=5-2000000"}, false},
		{"the end", "GET", "/large", []string{"Range", "bytes=-5000000"}, true},
		{"a range beyond the end", "GET", "/large", []string{"Range", "bytes=99999999-"}, false},
		{"several ranges", "GET", "/large", []string{"Range", "bytes=0-5000000,6000000-7000000"}, false},
		{"If-Range of this version", "GET", "/large", []string{"Range", "bytes=9-", "If-Range", `"v1"`}, true},
		{"If-Range of another version", "GET", "/large", []string{"Range", "bytes=9-", "If-Range", `"v0"`}, true},
		{"what the client has", "GET", "/large", []string{"If-None-Match", `"v1"`}, false},
		{"another version than it has", "GET", "/large", []string{"If-None-Match", `"v0"`}, true},
		{"a precondition that fails", "GET", "/large", []string{"If-Match", `"v0"`}, false},
		{"with a header", "GET", "/large", []string{"X-Want", "x", "Cookie", "c=d"}, true},
		{"no validator", "GET", "/unproven", nil, false},
		{"no ranges", "GET", "/norange", nil, false},
		{"a small object", "GET", "/small", nil, false},
		{"a redirect", "GET", "/moved", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := f.count()
			got, want := answerTo(t, through, test.method, server.URL+test.path, test.header...), answerTo(t, direct, test.method, server.URL+test.path, test.header...)
			if ranges := strings.Contains(want.header.Get("Content-Type"), "multipart"); ranges { // its boundaries are random
				got.body, want.body = "", ""
				got.header.Del("Content-Type")
				want.header.Del("Content-Type")
			}
			got.header.Del("Date")
			want.header.Del("Date")
			if got.err != nil || got.status != want.status || got.body != want.body {
				t.Errorf("%d, %d bytes, %v; want %d, %d bytes", got.status, len(got.body), got.err, want.status, len(want.body))
			}
			if g, w := fmt.Sprint(got.header), fmt.Sprint(want.header); g != w {
				t.Errorf("header %s,\nwant %s", g, w)
			}
			if n := f.count() - before; (n > 0) != test.spread {
				t.Errorf("spread %d times", n)
			}
		})
	}
	if n := len(s.spreading); n != 0 {
		t.Errorf("%d places are still taken", n)
	}
}

// TestOneLinkSpreadsNothing, and nor does --split 0.
func TestOneLinkSpreadsNothing(t *testing.T) {
	server := large(t, false)
	f := new(partFetcher)
	for _, cfg := range []Config{{Spreader: f, SpreadFrom: 4 << 20}, {Spreader: f}} {
		cfg.Placement = Measured
		links := []*wire{{name: "a"}, {name: "b"}}
		if cfg.SpreadFrom > 0 {
			links = links[:1]
		}
		_, addr := start(t, cfg, links...)
		if got := answerTo(t, clientThrough(t, addr, ""), "GET", server.URL+"/large"); len(got.body) != largeSize || f.count() != 0 {
			t.Errorf("%d bytes, spread %d times", len(got.body), f.count())
		}
	}
}

// TestSpreadThatFailsIsCutOff: a client that has been told a length does not take less for all.
func TestSpreadThatFailsIsCutOff(t *testing.T) {
	server := large(t, false)
	_, addr := start(t, Config{Placement: Measured, Spreader: &partFetcher{fail: 1 << 20}, SpreadFrom: 4 << 20}, &wire{name: "a"}, &wire{name: "b"})
	if got := answerTo(t, clientThrough(t, addr, ""), "GET", server.URL+"/large"); got.err == nil {
		t.Errorf("%d bytes without an error", len(got.body))
	}
}

// TestSpreadOutlivesItsFirstLink: where the answer itself breaks off, the other links go on
// from there.
func TestSpreadOutlivesItsFirstLink(t *testing.T) {
	body := testbody.Body{Size: largeSize, Seed: 5}
	for _, cut := range []int64{0, 1000, leadBegin + 1000} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Etag", `"v1"`)
			if r.Header.Get("Range") != "" {
				http.ServeContent(w, r, "", time.Unix(1e9, 0), body.Reader())
				return
			}
			w.Header().Set("Accept-Ranges", "bytes")
			w.Header().Set("Content-Length", strconv.Itoa(largeSize))
			_, _ = io.CopyN(w, body.Reader(), cut)
			w.(http.Flusher).Flush() //nolint:forcetypeassert // it is one
			panic(http.ErrAbortHandler)
		}))
		_, addr := start(t, Config{Placement: Measured, Spreader: new(partFetcher), SpreadFrom: 4 << 20}, &wire{name: "a"}, &wire{name: "b"})
		want, err := io.ReadAll(body.Reader())
		if err != nil {
			t.Fatal(err)
		}
		if got := answerTo(t, clientThrough(t, addr, ""), "GET", server.URL+"/"); got.err != nil || got.body != string(want) {
			t.Errorf("cut after %d: %d bytes, %v", cut, len(got.body), got.err)
		}
		server.Close()
	}
}

// TestSpreadEndsWithItsClient: nothing goes on for a client that has gone.
func TestSpreadEndsWithItsClient(t *testing.T) {
	server := large(t, false)
	f := new(partFetcher)
	s, addr := start(t, Config{Placement: Measured, Spreader: f, SpreadFrom: 4 << 20}, &wire{name: "a"}, &wire{name: "b"})
	for range maxSpreads + 2 {
		resp, err := clientThrough(t, addr, "").Get(server.URL + "/large")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, resp.Body, leadBegin+1); err != nil {
			t.Error(err)
		}
		_ = resp.Body.Close()
	}
	wait(t, "no place is taken", func() bool { return len(s.spreading) == 0 })
}

func TestContentRange(t *testing.T) {
	for text, want := range map[string][3]int64{
		"bytes 0-0/1": {0, 1, 1}, "bytes 5-9/100": {5, 10, 100}, "Bytes 0-99/100": {0, 100, 100},
		"bytes */100": {}, "bytes 0-9/*": {}, "bytes 9-8/100": {}, "bytes 0-100/100": {}, "bytes -5/100": {}, "": {},
		"items 0-9/10": {}, "bytes 0-9": {}, "bytes 0-+9/10": {}, "bytes 0-99999999999999999999/100": {}, "bytes 0-9/10/20": {},
	} {
		off, end, size, err := parseContentRange(text)
		if got := [3]int64{off, end, size}; err == nil && got != want || (err != nil) != (want == [3]int64{}) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func FuzzContentRange(f *testing.F) {
	f.Add("bytes 0-9/10")
	f.Fuzz(func(t *testing.T, text string) {
		off, end, size, err := parseContentRange(text)
		if err == nil && (off < 0 || end <= off || size < end) {
			t.Errorf("%q: [%d,%d) of %d", text, off, end, size)
		}
		if off, end, ok := parseRange(text); ok && (off < 0 || end >= 0 && end <= off) {
			t.Errorf("%q: [%d,%d)", text, off, end)
		}
	})
}

// TestNothingSpreadsAfterTheEnd: a handler of net/http may outlast its server. What it would begin
// then nobody waits for, and its client's body ends with an error, not as if it were whole.
func TestNothingSpreadsAfterTheEnd(t *testing.T) {
	f := &partFetcher{}
	s := New(Config{Spreader: f})
	s.finish()
	s.spreading <- struct{}{}
	first := io.NopCloser(strings.NewReader("lead"))
	body := &spreadBody{server: s, ctx: t.Context(), part: Part{End: 1000}, first: first, left: 4}
	got, err := io.ReadAll(body)
	if string(got) != "lead" || err == nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	if s.spreads != 0 {
		t.Errorf("%d objects were spread", s.spreads)
	}
}
