package fetch

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/mlget/mlget/internal/testbody"
)

// A server ends its connections after some responses, as all do: a Client keeps to one or
// two of them all the same, however many requests wait.
func TestConnectionsThatEndAreReplacedOneByOne(t *testing.T) {
	b := testbody.Body{Size: 1000, Seed: 4}
	for _, per := range []int{wellServed, 10, 16, 30, 100} {
		t.Run(fmt.Sprint(per), func(t *testing.T) {
			var mu sync.Mutex
			open, most := 0, 0
			s := newRawServer(t, func(p *peer) {
				mu.Lock()
				open++
				most = max(most, open)
				mu.Unlock()
				for i := 1; i <= per && p.request() != nil; i++ {
					extra := ""
					if i == per {
						extra = "Connection: close\r\n"
						mu.Lock()
						open-- // before the client can know, and make another one
						mu.Unlock()
					}
					p.part(b, 0, 1000, extra)
				}
				_ = p.Conn.(*net.TCPConn).CloseWrite()
				_, _ = io.Copy(io.Discard, p.br) // else a reset would overtake the last responses
			})
			c := client(t, Config{})
			must(t, c, s.url(t), 0, 1000)
			var wg sync.WaitGroup
			for range maxDepth {
				wg.Go(func() {
					for range 10 {
						r, err := c.Get(t.Context(), s.url(t), 0, 1000)
						if err != nil {
							t.Error(err)
							return
						}
						if _, err := io.ReadAll(r); err != nil {
							t.Error(err)
						}
						if err := r.Close(); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			mu.Lock()
			defer mu.Unlock()
			if most > 2 {
				t.Errorf("%d connections at once", most)
			}
		})
	}
}
