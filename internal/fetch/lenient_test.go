package fetch

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// TestServersAsTheyAre answers a request for the whole object in the ways of odd servers.
// curl 7.88.1 and wget 1.21.3 have got each answer of the same form; where they differ, the
// expectation is that of curl. What curl takes, and could be read in two ways, is refused.
func TestServersAsTheyAre(t *testing.T) {
	const (
		ok     = "HTTP/1.1 200 OK"
		ten    = "0123456789"
		length = "Content-Length: 10"
		coded  = "Transfer-Encoding: chunked"
		chunks = "a\r\n" + ten + "\r\n0\r\n\r\n"
		good   = "" // no error
	)
	for _, c := range []struct{ name, answer, err string }{
		{"201", lines("HTTP/1.1 201 Created", length) + ten, good},
		{"202", lines("HTTP/1.1 202 Accepted", length) + ten, good},
		{"203", lines("HTTP/1.1 203 Non-Authoritative", length) + ten, good},
		{"205 with a body", lines("HTTP/1.1 205 Reset Content", length) + ten, good},
		{"226", lines("HTTP/1.1 226 IM Used", length) + ten, good},
		{"unknown success", lines("HTTP/1.1 299 Fine", length) + ten, good},
		{"204", lines("HTTP/1.1 204 No Content"), "204"},                                   // both: an empty file
		{"202 without a body", lines("HTTP/1.1 202 Accepted", "Content-Length: 0"), "202"}, // both: an empty file
		{"206 without content-range", lines("HTTP/1.1 206 Partial Content", length) + ten, good},
		{"206 of everything", lines("HTTP/1.1 206 Partial Content", "Content-Range: bytes 0-9/10", length) + ten, good},
		{"206 of everything, size not told", lines("HTTP/1.1 206 Partial Content", "Content-Range: bytes 0-9/*", length) + ten, good},
		{"206 of the first part", lines("HTTP/1.1 206 Partial Content", "Content-Range: bytes 0-9/20", length) + ten, "content-range"}, // both: a file cut short
		{"206 of a later part", lines("HTTP/1.1 206 Partial Content", "Content-Range: bytes 5-14/15", length) + ten, "content-range"},  // curl: that
		{"200 of the first part", lines(ok, "Content-Range: bytes 0-9/20", length) + ten, "content-range"},                             // both: a file cut short
		{"several parts", lines("HTTP/1.1 206 Partial Content", "Content-Type: multipart/byteranges; boundary=x", length) + ten, "several ranges"},

		{"length twice in a line", lines(ok, "Content-Length: 10, 10") + ten, good},
		{"length twice", lines(ok, length, length) + ten, good},
		{"lengths differ in a line", lines(ok, "Content-Length: 10, 9") + ten, "content-length"}, // curl: the first
		{"lengths differ", lines(ok, length, "Content-Length: 9") + ten, "content-length"},       // curl: the last, wget: the first
		{"space before the colon", lines(ok, "Content-Length : 10", "Connection: keep-alive") + ten, good},
		{"empty length", lines(ok, "Content-Length:") + ten, "content-length"},
		{"negative length", lines(ok, "Content-Length: -1") + ten, "content-length"},
		{"length with a sign", lines(ok, "Content-Length: +10") + ten, "content-length"},                     // curl: 10
		{"length beyond 64 bits", lines(ok, "Content-Length: 18446744073709551626") + ten, "content-length"}, // curl: none
		{"length with a control character", lines(ok, "Content-Length: 10\x01") + ten, "Content-Length"},
		{"length with leading zeros", lines(ok, "Content-Length: 0010") + ten, good},

		{"identity", lines(ok, "Transfer-Encoding: identity", length) + ten, good},
		{"identity without a length", lines(ok, "Transfer-Encoding: identity") + ten, good},
		{"identity, chunked", lines(ok, "Transfer-Encoding: identity, chunked") + chunks, good},
		{"chunked twice", lines(ok, coded, coded) + chunks, good},
		{"Chunked", lines(ok, "Transfer-Encoding: Chunked") + chunks, good},
		{"chunked and a length", lines(ok, coded, length) + chunks, good},
		{"chunked in http/1.0", lines("HTTP/1.0 200 OK", coded) + chunks, good},
		{"unknown coding", lines(ok, "Transfer-Encoding: xchunked", length) + ten, "xchunked"},
		{"coding with a control character", lines(ok, "Transfer-Encoding: chunked\x0b") + chunks, "Transfer-Encoding"},
		{"gzip", lines(ok, "Transfer-Encoding: gzip, chunked") + chunks, "gzip"},

		{"chunks in LF", lines(ok, coded) + strings.ReplaceAll(chunks, "\r", ""), good},
		{"sizes in LF", lines(ok, coded) + "a\n" + ten + "\r\n0\r\n\r\n", good},
		{"data in LF", lines(ok, coded) + "a\r\n" + ten + "\n0\r\n\r\n", good},
		{"space behind a size", lines(ok, coded) + "a  \r\n" + ten + "\r\n0\r\n\r\n", good},
		{"extensions", lines(ok, coded) + "4;a=\"b\"\r\n0123\r\n6;c\r\n456789\r\n0;d\r\n\r\n", good},
		{"zeros before a size", lines(ok, coded) + strings.Repeat("0", 40) + "a\r\n" + ten + "\r\n0\r\n\r\n", good}, // curl: an error
		{"space before a size", lines(ok, coded) + " a\r\n" + ten + "\r\n0\r\n\r\n", "chunk"},
		{"0x", lines(ok, coded) + "0xa\r\n" + ten + "\r\n0\r\n\r\n", "chunk"},
		{"no size", lines(ok, coded) + "\r\n" + ten + "\r\n0\r\n\r\n", "chunk"},
		{"size beyond 63 bits", lines(ok, coded) + "1000000000000000a\r\n" + ten + "\r\n0\r\n\r\n", "chunk"},
		{"data longer than its size", lines(ok, coded) + "9\r\n" + ten + "\r\n0\r\n\r\n", "chunk"},
		{"no last chunk", lines(ok, coded) + "a\r\n" + ten + "\r\n", "early"},

		{"lines in LF", strings.ReplaceAll(lines(ok, length), "\r", "") + ten, good},
		{"no reason", lines("HTTP/1.1 200", length) + ten, good},
		{"http in lower case", lines("http/1.1 200 OK", length) + ten, good},
		{"folded", lines(ok, "X-A: b", " c", length) + ten, good},
		{"folded first line", lines(ok, " X-A: b", length) + ten, "white space"},
		{"no name", lines(ok, ": x", length) + ten, good},
		{"name with a space", lines(ok, "X Y: z", length) + ten, good},
		{"name with brackets", lines(ok, "X[1]: z", length) + ten, good},
		{"control character", lines(ok, "X: a\x01b", length) + ten, good},
		{"CR in a value", lines(ok, "X: a\rb", length) + ten, good},
		{"latin-1", lines(ok, "X: \xe9", length) + ten, good},
		{"no colon", lines(ok, "x", length) + ten, "colon"},
		{"NUL", lines(ok, "X: a\x00b", length) + ten, "NUL"},
		{"long line", lines(ok, "X: "+strings.Repeat("y", 90_000), length) + ten, good},
		{"200 with a location", lines(ok, "Location: /elsewhere", length) + ten, good},
		{"no HTTP", ten + "\r\n\r\n", "status line"},
		{"ICY", lines("ICY 200 OK", length) + ten, "status line"},
		{"blank line first", "\r\n" + lines(ok, length) + ten, "status line"},
		{"status of two digits", lines("HTTP/1.1 20 OK", length) + ten, "status"},
		{"status of four digits", lines("HTTP/1.1 2000 OK", length) + ten, "status"},
	} {
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
