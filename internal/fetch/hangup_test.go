package fetch

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/mlget/mlget/internal/errno"
	"github.com/mlget/mlget/internal/testbody"
)

// TestAbandonedResponsesAreReset: a server whose response is left in the middle
// hears of it by a reset, and one whose response was read by an ordinary end.
func TestAbandonedResponsesAreReset(t *testing.T) {
	for _, left := range []bool{true, false} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close() //nolint:errcheck // the test ends
		ended := make(chan error, 1)
		go func() {
			conn, err := ln.Accept()
			if err != nil {
				ended <- err
				return
			}
			defer conn.Close() //nolint:errcheck // the test ends
			b := testbody.Body{Size: 1000, Seed: 3}
			buf := make([]byte, 4096)
			if _, err := conn.Read(buf); err != nil {
				ended <- err
				return
			}
			n := 1000
			if left {
				n = 10 // and the rest never comes
			}
			head := "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-999/100000000\r\nContent-Length: 1000\r\nEtag: \"e\"\r\n\r\n"
			_, _ = conn.Write([]byte(head))
			_, _ = io.CopyN(conn, b.Reader(), int64(n))
			_, err = conn.Read(buf)
			ended <- err
		}()
		c := NewClient(new(Config), new(net.Dialer), nil)
		u := parse(t, "http://"+ln.Addr().String()+"/")
		resp, gerr := c.Get(context.Background(), u, 0, 1000)
		if gerr != nil {
			t.Fatal(gerr)
		}
		if left {
			_, _ = resp.Read(make([]byte, 4))
			resp.Discard(0)
		} else if n, err := io.Copy(io.Discard, resp); n != 1000 || err != nil {
			t.Fatal(n, err)
		}
		c.Close()
		if err := <-ended; left != errno.IsReset(err) || !left && !errors.Is(err, io.EOF) {
			t.Errorf("left %v: the server's end: %v", left, err)
		}
	}
}
