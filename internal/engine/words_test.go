package engine

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// another is a server of the same object on another link, with a gate of its own.
func another(o *object, gate func(w http.ResponseWriter, r *http.Request, n int64) bool) *object {
	return &object{body: o.body, etag: o.etag, modified: o.modified, gate: gate}
}

// small answers every request with the first n bytes, as an object that ends there.
func (o *object) small(n int64) func(w http.ResponseWriter, r *http.Request, _ int64) bool {
	return func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
		hijack(w, fmt.Appendf(nil, "HTTP/1.1 206 Partial Content\r\nEtag: %s\r\nContent-Range: bytes 0-%d/%d\r\nContent-Length: %d\r\n\r\n",
			o.etag, n-1, n, n), bytesOf(o.body, 0, n))
		return true
	}
}

// TestOneLinksWordAgainstServersWithoutRanges: what the network of one link alone says of the
// object's size is not believed while the server over the other link answers, whatever that
// makes of ranges, and however late it gets to the point.
func TestOneLinksWordAgainstServersWithoutRanges(t *testing.T) {
	t.Parallel()
	nothing := func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
		w.Header().Set("Content-Range", "bytes */0")
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		return true
	}
	empty := func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
		w.Header().Set("Content-Length", "0")
		return true
	}
	chunked := func(o *object) func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
			o.lengthless(w)
			return true
		}
	}
	fails := func(status int) func(o *object) func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
		return func(*object) func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			return func(w http.ResponseWriter, r *http.Request, _ int64) bool {
				if r.Header.Get("Range") == "" {
					return false
				}
				w.WriteHeader(status)
				return true
			}
		}
	}
	unsized := func(o *object) func(w http.ResponseWriter, _ *http.Request, _ int64) bool {
		return func(w http.ResponseWriter, r *http.Request, _ int64) bool {
			off, end := asked(r)
			if off >= o.body.Size || r.Header.Get("Range") == "" {
				return false
			}
			end = min(end, o.body.Size)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/*", off, end-1))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(bytesOf(o.body, off, end))
			return true
		}
	}
	for lie, liar := range map[string]func(o *object) func(http.ResponseWriter, *http.Request, int64) bool{
		"416 */0":     func(*object) func(http.ResponseWriter, *http.Request, int64) bool { return nothing },
		"empty 200":   func(*object) func(http.ResponseWriter, *http.Request, int64) bool { return empty },
		"206 0-19/20": func(o *object) func(http.ResponseWriter, *http.Request, int64) bool { return o.small(20) },
	} {
		for habit, server := range map[string]func(o *object) func(http.ResponseWriter, *http.Request, int64) bool{
			"chunked without ranges": chunked, "500": fails(500), "400": fails(400), "403": fails(403), "no total": unsized,
			"no ranges": func(o *object) func(http.ResponseWriter, *http.Request, int64) bool { return o.noRanges },
		} {
			for _, liarFirst := range []bool{false, true} {
				t.Run(fmt.Sprint(strings.Join([]string{lie, habit}, " against "), ", first: ", liarFirst), timeless(func(t *bubble) {
					o := newObject(50_000)
					honest, lying := another(o, nil), another(o, liar(o))
					honest.gate = server(honest)
					nets := []*testLink{
						{name: "honest", to: serve(t, honest).Listener.Addr().String(), latency: 40 * time.Millisecond},
						{name: "liar", to: serve(t, lying).Listener.Addr().String(), latency: 5 * time.Millisecond},
					}
					if liarFirst {
						nets[0], nets[1] = nets[1], nets[0]
					}
					r := newRig(t, nets...)
					r.cfg.Tries = 20
					r.get(at(t, serve(t, o), "", "/f")).right(o.body)
				}))
			}
		}
	}
}

// TestALinkThatBeginsToLie: its answers that contradict its first one cost the link, not the
// download, where the object can be had over another one.
func TestALinkThatBeginsToLie(t *testing.T) {
	for name, whole := range map[string]bool{"ranges": false, "no ranges": true} {
		t.Run(name, timeless(func(t *bubble) {
			o := newObject(300_000)
			honest, lying := another(o, nil), another(o, nil)
			if whole {
				honest.gate = honest.noRanges
			}
			lying.gate = func(w http.ResponseWriter, _ *http.Request, n int64) bool {
				if n < 3 {
					return false
				}
				w.Header().Set("Content-Range", "bytes */0")
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				return true
			}
			a := &testLink{name: "a", to: serve(t, lying).Listener.Addr().String(), latency: time.Millisecond, rate: 100_000}
			b := &testLink{name: "b", to: serve(t, honest).Listener.Addr().String(), latency: 50 * time.Millisecond, rate: 100_000}
			r := newRig(t, a, b)
			r.cfg.Tries = 20
			r.get(at(t, serve(t, o), "", "/f")).right(o.body)
		}))
	}
}

// TestListOverServersThatRefuseRanges: a server that has served a file of a list as a whole, and
// refuses a range of its rest, loses nothing.
func TestListOverServersThatRefuseRanges(t *testing.T) {
	for _, status := range []int{400, 403, 501, 0} {
		t.Run(fmt.Sprint(status), timeless(func(t *bubble) {
			s := serve(t, &shop{gate: func(w http.ResponseWriter, r *http.Request, o *object) bool {
				if r.Header.Get("Range") == "" {
					w.Header().Set("Content-Length", fmt.Sprint(o.body.Size))
					_, _ = io.Copy(w, o.body.Reader())
					return true
				}
				if status == 0 {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(status)
				return true
			}})
			r := newRig(t, &testLink{name: "a", rate: mib})
			r.cfg.Tries = 20
			r.haul(t.Context(), Batch{}, ware{base: s, size: 100_000}, ware{base: s, size: 200_000}, ware{base: s, size: 5000}).right()
		}))
	}
}
