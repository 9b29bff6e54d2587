package hostile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// raw1 answers with what net/http would not send, and closes the connection;
// false: it is not one of these faults.
func (s *Server) raw1(w http.ResponseWriter, q asked) bool {
	b := s.Object(q.n)
	r, ok := rawReply(s.cfg.Fault.Kind, q, b)
	if !ok {
		return false
	}
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer c.Close() //nolint:errcheck // it is given up
	bw := bufio.NewWriterSize(rw, piece)
	if err := s.writeReply(bw, q, b, r); err == nil {
		_ = bw.Flush() // the client may have gone
		_ = rw.Flush()
	}
	return true
}

// reply is an answer in HTTP/1 as it is written.
type reply struct {
	lines    []string      // of the header; none: there is no header
	eol      string        // of these lines
	pause    time.Duration // between two bytes of the header; 0: it comes at once
	endless  bool          // instead of the header's end, or the trailers', more lines without end
	off, end int64         // of the body
	chunks   *chunker      // nil: the body is not in chunks
	after    string        // behind the body
}

// Lines of the header of a right answer.
const (
	lineStatus = iota
	lineETag
	lineModified
	lineType
	lineRange
	lineLength
)

// rawReply is the answer of a kind, a right one but for what the switch says; false: it is
// not one of these.
func rawReply(k Kind, q asked, b testbody.Body) (r reply, ok bool) {
	n := q.end - q.off
	r = reply{eol: "\r\n", off: q.off, end: q.end, lines: []string{
		lineStatus:   "HTTP/1.1 206 Partial Content",
		lineETag:     "Etag: " + etag(b),
		lineModified: "Last-Modified: " + modified(false).Format(http.TimeFormat),
		lineType:     "Content-Type: application/octet-stream",
		lineRange:    fmt.Sprintf("Content-Range: bytes %d-%d/%d", q.off, q.end-1, b.Size),
		lineLength:   fmt.Sprintf("Content-Length: %d", n),
	}}
	plain10 := reply{eol: r.eol, lines: []string{"HTTP/1.0 200 OK"}, end: b.Size}
	chunked := func(c chunker) {
		r.lines[lineLength] = "Transfer-Encoding: chunked"
		r.chunks = &c
	}
	asUsual := chunker{most: piece, eol: "\r\n"}
	switch k {
	case CloseSilently:
	case HTTP10:
		r.lines[lineStatus] = "HTTP/1.0 206 Partial Content"
	case HTTP10Cut:
		r.lines[lineStatus] = "HTTP/1.0 206 Partial Content"
		r.cutShort()
	case HTTP10Plain:
		r = plain10
	case HTTP10PlainCut:
		r = plain10
		r.cutShort()
	case GarbageAfter:
		r.after = "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-3/4\r\nContent-Length: 4\r\n\r\nevil"
	case NotHTTP:
		r = reply{after: "SSH-2.0-OpenSSH_9.9\r\n"}
	case Escapes:
		r = reply{after: "HTTP/1.1 403 \x1b[2J\x1b]0;evil\x07no\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"}
	case EndlessHeaders:
		r.lines, r.endless = r.lines[:lineRange], true
	case HeaderCrumbs:
		r.pause = time.Millisecond / 4
	case SlowHeader:
		r.pause = 200 * time.Millisecond
		r.lines = append(r.lines, strings.Repeat("X-Slow: it is\r\n", 1000))

	// Lengths.
	case UnframedCut:
		r.lines[lineLength] = "Connection: close"
		r.cutShort()
	case TwoLengths:
		r.lines = append(r.lines, "Content-Length: 7")
	case SameLengthTwice:
		r.lines = append(r.lines, r.lines[lineLength])
	case LengthList:
		r.lines[lineLength] += fmt.Sprintf(", %d", n)
	case LengthNegative:
		r.lines[lineLength] = "Content-Length: -1"
	case LengthOverflow: // the right one, were it counted in 64 bits
		r.lines[lineLength] = "Content-Length: " + plus64(n)
	case LengthPlus:
		r.lines[lineLength] = fmt.Sprintf("Content-Length: +%d", n)
	case LengthSpaces:
		r.lines[lineLength] = fmt.Sprintf("Content-Length:\t \t%d \t ", n)
	case SpacedHeader:
		r.lines[lineLength] = fmt.Sprintf("Content-Length : %d", n)
	case IdentityCoding:
		r.lines = append(r.lines, "Transfer-Encoding: identity")
	case OddEncoding:
		r.lines[lineLength] = "Transfer-Encoding: xchunked\r\n" + r.lines[lineLength]

	// Chunks.
	case ShortChunks:
		chunked(asUsual)
		r.cutShort()
	case ChunksAndLength:
		// A client and a proxy that choose differently read different answers (request smuggling).
		chunked(asUsual)
		r.lines[lineLength] = "Content-Length: 7\r\n" + r.lines[lineLength]
	case ChunksLF:
		chunked(chunker{most: piece, eol: "\n"})
	case ChunkExtensions:
		chunked(chunker{most: piece, eol: "\r\n", extension: `;name;sig="a\"b;\\c"`})
	case ChunkDust:
		chunked(chunker{most: 40, eol: "\r\n"})
	case GzipEncoding:
		chunked(asUsual)
		r.lines[lineLength] = "Transfer-Encoding: gzip, chunked"
	case EndlessTrailers:
		chunked(asUsual)
		r.endless = true
	case BadChunks:
		r.lines[lineLength] = "Transfer-Encoding: chunked"
		r.end, r.after = r.off, "fffffffffffffffff\r\nevil\r\n-1\r\n\r\n0\r\n\r\n"

	// Content-Range, and how lines are written.
	case RangeOverflow:
		r.lines[lineRange] = fmt.Sprintf("Content-Range: bytes %d-18446744073709551615/18446744073709551616", q.off)
	case TwoRanges:
		r.lines[lineRange] += fmt.Sprintf("\r\nContent-Range: bytes 0-%d/%d", n-1, b.Size)
	case Folded:
		r.lines[lineRange] = strings.Replace(r.lines[lineRange], "bytes ", "bytes\r\n\t", 1)
	case BareLF:
		r.eol = "\n"
	case NulHeader:
		r.lines[lineETag] += "\r\nX-Odd: a\x00b"
	case NoReason:
		r.lines[lineStatus] = "HTTP/1.1 206"
	case BlankFirst:
		r.lines[lineStatus] = "\r\n\r\n" + r.lines[lineStatus]
	case InterimLies:
		r.lines[lineStatus] = "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\nContent-Range: bytes 0-4/5\r\n\r\n" +
			"HTTP/1.1 103 Early Hints\r\nEtag: \"hint\"\r\nTransfer-Encoding: chunked\r\n\r\n" + r.lines[lineStatus]
	case Switching:
		r.lines[lineStatus] = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: raw"
	default:
		return r, false
	}
	return r, true
}

// cutShort ends the body early.
func (r *reply) cutShort() { r.end = r.off + shortOf(r.end-r.off) }

// shortOf is how much of n bytes comes before an early end: not all of them.
func shortOf(n int64) int64 { return min(bite, n/2) }

// plus64 is 2^64 + n in decimal, for n below 10^19.
func plus64(n int64) string {
	const upper, lower = 1844674407, 3709551616 // of 2^64, the lower ten digits apart
	sum := lower + n
	return fmt.Sprintf("%d%010d", upper+sum/1e10, sum%1e10)
}

// writeReply writes an answer with a part of an object. What w says of errors the next
// write says again.
func (s *Server) writeReply(w *bufio.Writer, q asked, b testbody.Body, r reply) error {
	head := ""
	if len(r.lines) > 0 {
		head = strings.Join(r.lines, r.eol) + r.eol
	}
	if r.endless && r.chunks == nil {
		_, _ = w.WriteString(head)
		return s.linesWithoutEnd(w, q)
	}
	if head != "" {
		head += r.eol
	}
	for i := 0; r.pause > 0 && i < len(head); i++ {
		_ = w.WriteByte(head[i])
		if err := w.Flush(); err != nil {
			return err
		}
		if !s.pause(q.ctx, r.pause) {
			return errClosed
		}
	}
	if r.pause == 0 {
		_, _ = w.WriteString(head)
	}
	to := io.Writer(w)
	if r.chunks != nil {
		r.chunks.w = w
		to = r.chunks
	}
	if err := s.send(to, q, b, r.off, r.end); err != nil {
		return err
	}
	if r.chunks != nil {
		_, _ = w.WriteString("0" + r.chunks.eol)
		if r.endless {
			return s.linesWithoutEnd(w, q)
		}
		_, _ = w.WriteString(r.chunks.eol)
	}
	_, err := w.WriteString(r.after)
	return err
}

// errClosed says that the server is being closed, or the client has gone.
var errClosed = errors.New("closed")

// linesWithoutEnd writes lines of a header.
func (s *Server) linesWithoutEnd(w io.Writer, q asked) error {
	const most = 64 << 20 // enough for any client
	for n := 0; n < most; {
		k, err := fmt.Fprintf(w, "X-%d: %01000d\r\n", n, n)
		if err != nil {
			return err
		}
		n += k
		if n%(1<<20) < k && !s.pause(q.ctx, time.Millisecond) {
			return errClosed
		}
	}
	return nil
}

// chunker writes chunks.
type chunker struct {
	w         io.Writer
	most      int    // bytes of a chunk
	extension string // of each
	eol       string
}

func (c *chunker) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		part := p[done:min(len(p), done+c.most)]
		if _, err := fmt.Fprintf(c.w, "%x%s%s%s%s", len(part), c.extension, c.eol, part, c.eol); err != nil {
			return done, err
		}
		done += len(part)
	}
	return done, nil
}
