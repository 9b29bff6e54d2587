package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestServersAsTheyAre answers a request for the whole object in the ways of odd servers.
// curl 7.88.1 and wget 1.21.3 have got each answer of the same form; where they differ, the
// expectation is that of curl. What curl takes, and could be read in two ways, is refused.
func TestServersAsTheyAre(t *testing.T) {
	const ten = "0123456789"
	const good = "" // no error
	for _, c := range oddAnswers(t) {
		t.Run(c.name, func(t *testing.T) {
			s := newRawServer(t, func(p *peer) {
				if p.request() != nil {
					p.say(c.answer)
				}
			})
			if c.err == good {
				if got := string(must(t, client(t, Config{}), s.url(t), 0, -1)); got != ten {
					t.Errorf("got %q", got)
				}
				return
			}
			if e := mustFail(t, client(t, Config{}), s.url(t), 0, -1); !strings.Contains(e.Error(), c.err) {
				t.Errorf("%v", e)
			}
		})
	}
}

// oddAnswer is an answer to a request for an object of ten bytes.
type oddAnswer struct{ name, answer, err string }

// oddAnswers reads testdata/servers/odd-answers.tsv, and adds what is too long for a file.
func oddAnswers(t *testing.T) []oddAnswer {
	t.Helper()
	text, err := os.ReadFile("../../testdata/servers/odd-answers.tsv")
	if err != nil {
		t.Fatal(err)
	}
	all := []oddAnswer{{"long line", lines("HTTP/1.1 200 OK", "X: "+strings.Repeat("y", 90_000), "Content-Length: 10") + "0123456789", ""}}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := append(strings.Split(strings.TrimSuffix(line, "\n"), "\t"), "")
		answer, err := strconv.Unquote(cells[1])
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, oddAnswer{cells[0], answer, cells[2]})
	}
	if len(all) < 60 {
		t.Fatalf("%d answers", len(all))
	}
	return all
}

// TestOddRedirects follows what curl follows.
func TestOddRedirects(t *testing.T) {
	for name, answer := range map[string]string{
		"300":           lines("HTTP/1.1 300 Multiple Choices", "Location: /file", "Content-Length: 0"),
		"three slashes": lines("HTTP/1.1 302 Found", "Location: http:///HOST/file", "Content-Length: 0"),
		"one slash":     lines("HTTP/1.1 302 Found", "Location: HTTP:/HOST/file", "Content-Length: 0"),
	} {
		t.Run(name, func(t *testing.T) {
			s := newRawServer(t, func(p *peer) {
				for r := p.request(); r != nil; r = p.request() {
					if r.URL.Path == "/file" {
						p.say("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
					} else {
						p.say(strings.ReplaceAll(answer, "HOST", r.Host))
					}
				}
			})
			if got := string(must(t, client(t, Config{}), s.url(t), 0, -1)); got != "hello" {
				t.Errorf("got %q", got)
			}
		})
	}
	s := newRawServer(t, func(p *peer) {
		p.request()
		p.say("HTTP/1.1 300 Multiple Choices\r\nContent-Length: 5\r\n\r\nhello")
	})
	if e := mustFail(t, client(t, Config{}), s.url(t), 0, -1); e.Class != Status || e.Status != http.StatusMultipleChoices {
		t.Errorf("choices without one of the server's: %v", e)
	}
}

// FuzzHeader compares with net/http, which is stricter: what that takes means the same to both.
func FuzzHeader(f *testing.F) {
	for _, s := range []string{
		lines("HTTP/1.1 200 OK", "Content-Length: 10"), lines("HTTP/1.0 206 OK", "Connection: keep-alive", "Content-Length: 1"),
		lines("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "A: b", " c"), lines("HTTP/1.1 204 No", "X: y"),
		"HTTP/1.1 200 OK\nContent-Length : 5\n\n", lines("http/1.1 200", "Content-Length: 5, 5"),
		lines("HTTP/1.1 200 OK", "Transfer-Encoding: identity"), lines("HTTP/1.1 304 No", "Content-Length: 7", "Connection: close"),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		req := &http.Request{Method: http.MethodGet}
		theirs, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), req)
		ours, ourErr := readHeader(bufio.NewReaderSize(bytes.NewReader(answer), 16), req) //nolint:bodyclose // it has none
		if ourErr == nil && (ours.ContentLength < -1 || ours.StatusCode < 100 || ours.StatusCode > 999 ||
			ours.ContentLength >= 0 && len(ours.TransferEncoding) > 0 || ours.ContentLength < 0 && len(ours.TransferEncoding) == 0 && !ours.Close) {
			t.Fatalf("%+v", ours)
		}
		if err != nil {
			return
		}
		_ = theirs.Body.Close()
		for name := range theirs.Header {
			if strings.ContainsAny(name, " \t") { // which to net/http is another name
				return
			}
		}
		old := theirs.ProtoMajor == 1 && theirs.ProtoMinor == 0 // of 1.0 net/http passes over a transfer-encoding
		if ourErr != nil || theirs.ProtoMajor != 1 || old && theirs.Header.Get("Transfer-Encoding") != "" {
			return
		}
		if ours.StatusCode != theirs.StatusCode || ours.ContentLength != theirs.ContentLength || len(ours.TransferEncoding) != len(theirs.TransferEncoding) {
			t.Fatalf("%+v, net/http has %+v", ours, theirs)
		}
	})
}

// FuzzChunked: what is put into chunks comes out again, however it is read and written.
func FuzzChunked(f *testing.F) {
	f.Add([]byte("0123456789"), uint64(1), false)
	f.Add(bytes.Repeat([]byte("abc"), 100), uint64(2), true)
	f.Add([]byte{}, uint64(3), true)
	f.Fuzz(func(t *testing.T, body []byte, seed uint64, lf bool) {
		rng := rand.New(rand.NewPCG(seed, 0))
		end := "\r\n"
		if lf {
			end = "\n"
		}
		var wire bytes.Buffer
		for left := body; len(left) > 0; {
			n := 1 + rng.IntN(len(left))
			wire.WriteString(strconv.FormatInt(int64(n), 16) + end)
			wire.Write(left[:n])
			wire.WriteString(end)
			left = left[n:]
		}
		wire.WriteString("0" + end + end)
		all := wire.Len()
		wire.WriteString("behind")
		read := func(r io.Reader) ([]byte, string, error) {
			in := &meter{src: r, left: unmetered}
			br := bufio.NewReaderSize(in, 16+rng.IntN(5000))
			got, err := io.ReadAll(&crumbs{newChunked(br, in), rng})
			rest, _ := io.ReadAll(br)
			return got, string(rest), err
		}
		raw := wire.Bytes()
		if got, rest, err := read(bytes.NewReader(raw)); err != nil || !bytes.Equal(got, body) || rest != "behind" {
			t.Fatalf("%d bytes of %d, %v, then %q", len(got), len(body), err, rest)
		}
		cut := rng.IntN(all)
		if got, _, err := read(bytes.NewReader(raw[:cut])); !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.HasPrefix(body, got) {
			t.Fatalf("cut at %d of %d: %d bytes of %d, %v", cut, all, len(got), len(body), err)
		}
		raw[rng.IntN(all)] ^= byte(1 + rng.IntN(255))
		_, _, _ = read(bytes.NewReader(raw)) // it ends
	})
}

// crumbs reads a few bytes at a time.
type crumbs struct {
	r   io.Reader
	rng *rand.Rand
}

func (c *crumbs) Read(p []byte) (int, error) { return c.r.Read(p[:1+c.rng.IntN(len(p))]) }
