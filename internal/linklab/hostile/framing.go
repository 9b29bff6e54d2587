package hostile

import (
	"bufio"
	"fmt"

	"github.com/mlget/mlget/internal/testbody"
)

// framing is how an answer is written whose end HTTP/1 is told badly; nil: the
// kind is not one of these.
func framing(k Kind) func(*Server, *bufio.Writer, asked, testbody.Body) error {
	switch k {
	case HTTP10Cut:
		return (*Server).http10Cut
	case HTTP10PlainCut:
		return (*Server).http10PlainCut
	case UnframedCut:
		return (*Server).unframedCut
	case ShortChunks:
		return (*Server).shortChunks
	case ChunksAndLength:
		return (*Server).chunksAndLength
	case ChunksLF:
		return (*Server).chunksLF
	case RangeOverflow, TwoRanges, SameLengthTwice, LengthNegative, LengthOverflow, LengthPlus, OddEncoding, SpacedHeader,
		LengthList, IdentityCoding:
		return (*Server).oddHeader
	default:
		return wording(k)
	}
}

// shortOf is how much of n bytes comes before an early end: not all of them.
func shortOf(n int64) int64 { return min(bite, n/2) }

func (s *Server) http10Cut(w *bufio.Writer, q asked, b testbody.Body) error {
	partHead(w, "HTTP/1.0", q, b)
	_, _ = w.WriteString("\r\n") // Flush tells
	return s.send(w, q, b, q.off, q.off+shortOf(q.end-q.off))
}

func (s *Server) http10PlainCut(w *bufio.Writer, q asked, b testbody.Body) error {
	_, _ = w.WriteString("HTTP/1.0 200 OK\r\n\r\n")
	return s.send(w, q, b, 0, shortOf(b.Size))
}

func (s *Server) unframedCut(w *bufio.Writer, q asked, b testbody.Body) error {
	head(w, "HTTP/1.1", b)
	_, _ = fmt.Fprintf(w, "Content-Range: bytes %d-%d/%d\r\nConnection: close\r\n\r\n", q.off, q.end-1, b.Size)
	return s.send(w, q, b, q.off, q.off+shortOf(q.end-q.off))
}

func (s *Server) shortChunks(w *bufio.Writer, q asked, b testbody.Body) error {
	head(w, "HTTP/1.1", b)
	_, _ = fmt.Fprintf(w, "Content-Range: bytes %d-%d/%d\r\nTransfer-Encoding: chunked\r\n\r\n", q.off, q.end-1, b.Size)
	return s.chunk(w, q, b, q.off, q.off+shortOf(q.end-q.off))
}

// chunksAndLength frames a right body twice, of which one framing is a lie: who
// goes by the other one than a proxy before it reads somebody else's answer.
func (s *Server) chunksAndLength(w *bufio.Writer, q asked, b testbody.Body) error {
	head(w, "HTTP/1.1", b)
	_, _ = fmt.Fprintf(w, "Content-Range: bytes %d-%d/%d\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n", q.off, q.end-1, b.Size)
	return s.chunk(w, q, b, q.off, q.end)
}

// chunksLF ends the lines of its chunks with LF alone.
func (s *Server) chunksLF(w *bufio.Writer, q asked, b testbody.Body) error {
	head(w, "HTTP/1.1", b)
	_, _ = fmt.Fprintf(w, "Content-Range: bytes %d-%d/%d\r\nTransfer-Encoding: chunked\r\n\r\n%x\n", q.off, q.end-1, b.Size, q.end-q.off)
	if err := s.send(w, q, b, q.off, q.end); err != nil {
		return err
	}
	_, err := w.WriteString("\n0\n\n")
	return err
}

// chunk sends [off, end) as one chunk, and the last one.
func (s *Server) chunk(w *bufio.Writer, q asked, b testbody.Body, off, end int64) error {
	_, _ = fmt.Fprintf(w, "%x\r\n", end-off)
	if err := s.send(w, q, b, off, end); err != nil {
		return err
	}
	_, err := w.WriteString("\r\n0\r\n\r\n")
	return err
}

// oddHeader is a right answer but for a line or two of its header.
func (s *Server) oddHeader(w *bufio.Writer, q asked, b testbody.Body) error {
	const most = "18446744073709551616" // 2^64
	head(w, "HTTP/1.1", b)
	n := q.end - q.off
	right := fmt.Sprintf("Content-Range: bytes %d-%d/%d\r\n", q.off, q.end-1, b.Size)
	length := fmt.Sprintf("Content-Length: %d\r\n", n)
	switch s.cfg.Fault.Kind {
	case RangeOverflow:
		right = fmt.Sprintf("Content-Range: bytes %d-%s/%s\r\n", q.off, "18446744073709551615", most)
	case TwoRanges:
		right += fmt.Sprintf("Content-Range: bytes %d-%d/%d\r\n", 0, n-1, b.Size)
	case SameLengthTwice:
		length += length
	case LengthList:
		length = fmt.Sprintf("Content-Length: %d, %d\r\n", n, n)
	case IdentityCoding:
		length += "Transfer-Encoding: identity\r\n"
	case LengthNegative:
		length = "Content-Length: -1\r\n"
	case LengthOverflow: // the right one, were it counted in 64 bits
		length = fmt.Sprintf("Content-Length: %s\r\n", plus64(n))
	case LengthPlus:
		length = fmt.Sprintf("Content-Length: +%d\r\n", n)
	case OddEncoding:
		length = "Transfer-Encoding: xchunked\r\n" + length
	case SpacedHeader:
		length = fmt.Sprintf("Content-Length : %d\r\n", n)
	default:
	}
	_, _ = w.WriteString(right + length + "\r\n")
	return s.send(w, q, b, q.off, q.end)
}

// plus64 is 2^64 + n in decimal, for n below 10^19.
func plus64(n int64) string {
	const upper, lower = 1844674407, 3709551616 // of 2^64, the lower ten digits apart
	sum := lower + n
	return fmt.Sprintf("%d%010d", upper+sum/1e10, sum%1e10)
}
