package get

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
)

// slowLink leads to a server of one page, which sends so many bytes of it each second.
type slowLink struct {
	page string
	rate int // bytes per second
}

func (slowLink) Name() string { return "slow" }

func (l slowLink) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	go l.serve(server)
	return client, nil
}

func (l slowLink) serve(conn net.Conn) {
	defer conn.Close() //nolint:errcheck // a pipe
	requests := bufio.NewReader(conn)
	for {
		if _, err := http.ReadRequest(requests); err != nil {
			return
		}
		if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(l.page)); err != nil {
			return
		}
		for sent := 0; sent < len(l.page); sent += l.rate {
			time.Sleep(time.Second)
			if _, err := conn.Write([]byte(l.page[sent:min(sent+l.rate, len(l.page))])); err != nil {
				return
			}
		}
	}
}

// linksOver are the links of a run.
func linksOver(nets []engine.Network, terms []engine.Terms) []*engine.Link {
	return engine.NewLinks(&event.Bus{}, time.Now(), nets, terms, 0, 0)
}

// TestPagesOverSlowLinks: a page that drips over one link comes over another, and does not
// hold up the run where there is none; one of a slow link comes.
func TestPagesOverSlowLinks(t *testing.T) {
	page := strings.Repeat("<a href=x>x</a>", 10_000) // 150 kB
	for name, c := range map[string]struct {
		rates  []int
		within time.Duration
		comes  bool
	}{
		"two links, one drips":     {[]int{1, 1 << 20}, 15 * time.Second, true},
		"two links, both are slow": {[]int{2000, 3000}, time.Minute, true},
		"one link, slow":           {[]int{2000}, 80 * time.Second, true},
		"one link, drips":          {[]int{1}, 5 * time.Minute, false},
		"one link, drips more":     {[]int{50}, 5 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var links []engine.Network
				for _, rate := range c.rates {
					links = append(links, slowLink{page, rate})
				}
				p := newPages(&fetch.Config{}, linksOver(links, make([]engine.Terms, len(links))), 30*time.Second, flags.Tries{N: 20})
				defer time.Sleep(2 * time.Second) // for the servers to see it
				defer p.close()
				began := time.Now()
				got, err := p.get(t.Context(), &url.URL{Scheme: "http", Host: "h", Path: "/"})
				switch {
				case c.comes && string(got.text) != page:
					t.Errorf("%d bytes, %v", len(got.text), err)
				case !c.comes && !errors.Is(err, fetch.ErrStalled):
					t.Errorf("%d bytes, %v", len(got.text), err)
				}
				if took := time.Since(began); took > c.within {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestPagesObeyTheCap: a page is paid for with the bytes of its link, and comes over another
// one where these do not suffice.
func TestPagesObeyTheCap(t *testing.T) {
	page := strings.Repeat("<a href=x>x</a>", 1000) // 15 kB
	for name, c := range map[string]struct {
		caps  []int64
		comes bool
		spare []int64 // after two pages; -1: no matter
	}{
		"enough":               {[]int64{40_000}, true, []int64{10_000}},
		"for one page":         {[]int64{20_000}, false, []int64{0}},
		"the first has little": {[]int64{20_000, 100_000}, true, []int64{0, -1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nets, terms := make([]engine.Network, len(c.caps)), make([]engine.Terms, len(c.caps))
				for i := range nets {
					nets[i], terms[i].Cap = slowLink{page, 1 << 20}, c.caps[i]
				}
				links := linksOver(nets, terms)
				p := newPages(&fetch.Config{}, links, 30*time.Second, flags.Tries{N: 20})
				defer time.Sleep(2 * time.Second)
				defer p.close()
				u := &url.URL{Scheme: "http", Host: "h", Path: "/"}
				if got, err := p.get(t.Context(), u); string(got.text) != page {
					t.Fatalf("the first page: %d bytes, %v", len(got.text), err)
				}
				got, err := p.get(t.Context(), u)
				if (string(got.text) == page) != c.comes || !c.comes && !errors.Is(err, engine.ErrCapped) {
					t.Errorf("the second page: %d bytes, %v", len(got.text), err)
				}
				for i, want := range c.spare {
					if got := links[i].Spare(); want >= 0 && got != want {
						t.Errorf("link %d has %d bytes left, want %d", i, got, want)
					}
				}
			})
		})
	}
}
