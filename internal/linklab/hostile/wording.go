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

// wording is how an answer is written that HTTP/1 allows, though hardly anybody
// writes it so, or forbids, though somebody may; nil: the kind is not one of these.
func wording(k Kind) func(*Server, *bufio.Writer, asked, testbody.Body) error {
	switch k {
	case BareLF, Folded, NulHeader, NoReason, BlankFirst, LengthSpaces, InterimLies, Switching:
		return (*Server).worded
	case GzipEncoding, ChunkExtensions, ChunkDust, EndlessTrailers:
		return (*Server).chunked
	case HeaderCrumbs, SlowHeader:
		return (*Server).crumbs
	default:
		return nil
	}
}

// plainHead is the header of a right part, line by line.
func plainHead(q asked, b testbody.Body) []string {
	return []string{
		"HTTP/1.1 206 Partial Content", "Etag: " + etag(b), "Last-Modified: " + modified(false).Format(http.TimeFormat),
		fmt.Sprintf("Content-Range: bytes %d-%d/%d", q.off, q.end-1, b.Size), fmt.Sprintf("Content-Length: %d", q.end-q.off), "", "",
	}
}

// worded writes a right answer in other words.
func (s *Server) worded(w *bufio.Writer, q asked, b testbody.Body) error {
	const contentRange, length = 3, 4 // lines
	lines, end := plainHead(q, b), "\r\n"
	switch s.cfg.Fault.Kind {
	case BareLF:
		end = "\n"
	case Folded:
		lines[contentRange] = strings.Replace(lines[contentRange], "bytes ", "bytes\r\n\t", 1)
	case NulHeader:
		lines[1] += "\r\nX-Odd: a\x00b"
	case NoReason:
		lines[0] = "HTTP/1.1 206"
	case BlankFirst:
		lines[0] = "\r\n\r\n" + lines[0]
	case LengthSpaces:
		lines[length] = strings.Replace(lines[length], ": ", ":\t \t", 1) + " \t "
	case InterimLies:
		lines[0] = "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\nContent-Range: bytes 0-4/5\r\n\r\n" +
			"HTTP/1.1 103 Early Hints\r\nEtag: \"hint\"\r\nTransfer-Encoding: chunked\r\n\r\n" + lines[0]
	case Switching:
		lines[0] = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: raw"
	default:
	}
	_, _ = w.WriteString(strings.Join(lines, end)) // Flush tells
	return s.send(w, q, b, q.off, q.end)
}

// chunked writes a right answer in chunks of some kind.
func (s *Server) chunked(w *bufio.Writer, q asked, b testbody.Body) error {
	const few = 40 // bytes
	lines := plainHead(q, b)
	lines[4] = "Transfer-Encoding: chunked"
	c := chunker{w: w, most: piece}
	switch s.cfg.Fault.Kind {
	case GzipEncoding:
		lines[4] = "Transfer-Encoding: gzip, chunked"
	case ChunkExtensions:
		c.extension = `;name;sig="a\"b;\\c"`
	case ChunkDust:
		c.most = few
	default:
	}
	_, _ = w.WriteString(strings.Join(lines, "\r\n"))
	if err := s.send(c, q, b, q.off, q.end); err != nil {
		return err
	}
	_, err := w.WriteString("0\r\n")
	const most = 64 << 20 // nobody waits for more
	for n := 0; s.cfg.Fault.Kind == EndlessTrailers && err == nil && n < most; n++ {
		_, err = fmt.Fprintf(w, "X-%d: %01000d\r\n", n, n)
	}
	if err == nil {
		_, err = w.WriteString("\r\n")
	}
	return err
}

// chunker writes chunks.
type chunker struct {
	w         io.Writer
	most      int // bytes of a chunk
	extension string
}

func (c chunker) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		part := p[done:min(len(p), done+c.most)]
		if _, err := fmt.Fprintf(c.w, "%x%s\r\n%s\r\n", len(part), c.extension, part); err != nil {
			return done, err
		}
		done += len(part)
	}
	return done, nil
}

// crumbs sends the header byte by byte: the right one at once, the slow one so that
// it takes for ever.
func (s *Server) crumbs(w *bufio.Writer, q asked, b testbody.Body) error {
	text, pause := strings.Join(plainHead(q, b), "\r\n"), time.Millisecond/4
	if s.cfg.Fault.Kind == SlowHeader {
		text, pause = text[:len(text)-2]+strings.Repeat("X-Slow: it is\r\n", 1000), 200*time.Millisecond
	}
	for i := range len(text) {
		_ = w.WriteByte(text[i])
		if err := w.Flush(); err != nil {
			return err
		}
		if !s.pause(q.ctx, pause) {
			return errors.New("closed")
		}
	}
	return s.send(w, q, b, q.off, q.end)
}
