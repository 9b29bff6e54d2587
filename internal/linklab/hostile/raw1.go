package hostile

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mlget/mlget/internal/testbody"
)

// raw1 answers with what net/http would not send, and closes the connection;
// false: it is not one of these faults.
func (s *Server) raw1(w http.ResponseWriter, q asked) bool {
	var write func(*Server, *bufio.Writer, asked, testbody.Body) error
	switch s.cfg.Fault.Kind {
	case HTTP10:
		write = (*Server).http10
	case HTTP10Plain:
		write = (*Server).http10Plain
	case CloseSilently:
		write = (*Server).part
	case GarbageAfter:
		write = (*Server).garbageAfter
	case TwoLengths:
		write = (*Server).twoLengths
	case BadChunks:
		write = (*Server).badChunks
	case NotHTTP:
		write = (*Server).notHTTP
	case Escapes:
		write = (*Server).escapes
	case EndlessHeaders:
		write = (*Server).endlessHeaders
	default:
		if write = framing(s.cfg.Fault.Kind); write == nil {
			return false
		}
	}
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer c.Close() //nolint:errcheck // it is given up
	bw := bufio.NewWriterSize(rw, piece)
	if err := write(s, bw, q, s.Object(q.n)); err == nil {
		_ = bw.Flush() // the client may have gone
		_ = rw.Flush()
	}
	return true
}

// head writes the status line of a part and what every answer has.
func head(w *bufio.Writer, proto string, b testbody.Body) {
	_, _ = fmt.Fprintf(w, "%s 206 Partial Content\r\nEtag: %s\r\nLast-Modified: %s\r\nContent-Type: application/octet-stream\r\n",
		proto, etag(b), modified(false).Format(http.TimeFormat)) // Flush tells
}

// partHead writes the header of the part, but for the empty line.
func partHead(w *bufio.Writer, proto string, q asked, b testbody.Body) {
	head(w, proto, b)
	_, _ = fmt.Fprintf(w, "Content-Range: bytes %d-%d/%d\r\nContent-Length: %d\r\n", q.off, q.end-1, b.Size, q.end-q.off)
}

// part is a right answer.
func (s *Server) part(w *bufio.Writer, q asked, b testbody.Body) error {
	partHead(w, "HTTP/1.1", q, b)
	_, _ = w.WriteString("\r\n")
	return s.send(w, q, b, q.off, q.end)
}

func (s *Server) http10(w *bufio.Writer, q asked, b testbody.Body) error {
	partHead(w, "HTTP/1.0", q, b)
	_, _ = w.WriteString("\r\n")
	return s.send(w, q, b, q.off, q.end)
}

func (s *Server) http10Plain(w *bufio.Writer, q asked, b testbody.Body) error {
	_, _ = w.WriteString("HTTP/1.0 200 OK\r\n\r\n")
	return s.send(w, q, b, 0, b.Size)
}

func (s *Server) garbageAfter(w *bufio.Writer, q asked, b testbody.Body) error {
	if err := s.part(w, q, b); err != nil {
		return err
	}
	_, err := w.WriteString("HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-3/4\r\nContent-Length: 4\r\n\r\nevil")
	return err
}

func (s *Server) twoLengths(w *bufio.Writer, q asked, b testbody.Body) error {
	partHead(w, "HTTP/1.1", q, b)
	_, _ = w.WriteString("Content-Length: 7\r\n\r\n")
	return s.send(w, q, b, q.off, q.end)
}

func (s *Server) badChunks(w *bufio.Writer, q asked, b testbody.Body) error {
	head(w, "HTTP/1.1", b)
	_, _ = fmt.Fprintf(w, "Content-Range: bytes %d-%d/%d\r\nTransfer-Encoding: chunked\r\n\r\n", q.off, q.end-1, b.Size)
	_, err := w.WriteString("fffffffffffffffff\r\nevil\r\n-1\r\n\r\n0\r\n\r\n")
	return err
}

func (s *Server) notHTTP(w *bufio.Writer, _ asked, _ testbody.Body) error {
	_, err := w.WriteString("SSH-2.0-OpenSSH_9.9\r\n")
	return err
}

func (s *Server) escapes(w *bufio.Writer, _ asked, _ testbody.Body) error {
	_, err := w.WriteString("HTTP/1.1 403 \x1b[2J\x1b]0;evil\x07no\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
	return err
}

func (s *Server) endlessHeaders(w *bufio.Writer, q asked, b testbody.Body) error {
	head(w, "HTTP/1.1", b)
	const most = 64 << 20 // nobody waits for more
	for n := 0; n < most; {
		k, err := fmt.Fprintf(w, "X-%d: %01000d\r\n", n, n)
		if err != nil {
			return err
		}
		n += k
		if n%(1<<20) < k && !s.pause(q.ctx, time.Millisecond) {
			return errors.New("closed")
		}
	}
	return nil
}
