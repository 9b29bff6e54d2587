package adversary

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// serve answers what comes over a connection, until it ends.
func (n *Network) serve(c *end, w *Wire, edge int) {
	if n.world.HTTP2 {
		n.serve2(c, w, edge)
		return
	}
	in := bufio.NewReaderSize(c, 1<<10)
	for first := true; ; first = false {
		if !first {
			n.idle(c, edge)
		}
		n.setQuiet(edge, true)
		h, err := http.ReadRequest(in)
		if err != nil {
			_ = c.Close()
			return
		}
		n.setQuiet(edge, false)
		r := request{host: h.Host, path: h.URL.Path}
		r.off, r.end, r.ranged = parseRange(h.Header.Get("Range"))
		a := n.answer(r, w, edge)
		more := c.send(a)
		n.done(w, edge)
		if !more {
			return
		}
	}
}

// setQuiet notes that an edge waits for a connection's next request, or has it.
func (n *Network) setQuiet(edge int, quiet bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case edge < 0 || !n.world.Edges[edge].OneByOne:
	case quiet:
		n.quiet[edge] = time.Now()
	default:
		delete(n.quiet, edge)
	}
}

// pause waits; false: the client has gone meanwhile.
func (e *end) pause(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.gone():
		return false
	}
}

// finishBy ends the connection as an answer wants; endWell is an ordinary close.
func (e *end) finishBy(how ending) {
	switch how {
	case endReset:
		e.reset()
	case endStall:
		<-e.gone()
	default:
		_ = e.Close()
	}
}

// send sends an answer over HTTP/1.1; false: nothing may follow.
func (e *end) send(a *answer) bool {
	if !e.pause(a.delay) {
		return false
	}
	if a.before != endWell {
		e.finishBy(a.before)
		return false
	}
	last := a.last || a.after != endWell
	head := fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nDate: Sat, 01 Jun 2024 10:00:00 GMT\r\n", a.status, http.StatusText(a.status))
	for i := 0; i < len(a.header); i += 2 {
		head = fmt.Appendf(head, "%s: %s\r\n", a.header[i], a.header[i+1])
	}
	chunked := false
	switch {
	case a.status == http.StatusNoContent:
	case a.length >= 0:
		head = append(head, "Content-Length: "+strconv.FormatInt(a.length, 10)+"\r\n"...)
	case a.framing == Chunked:
		chunked = true
		head = append(head, "Transfer-Encoding: chunked\r\n"...)
	default:
		last = true
	}
	if last {
		head = append(head, "Connection: close\r\n"...)
	}
	head = append(head, "\r\n"...)
	if _, err := e.Write(head); err != nil {
		return false
	}
	buf := make([]byte, min(segmentSize, a.body))
	for sent := int64(0); sent < a.body; {
		p := buf[:min(int64(len(buf)), a.body-sent)]
		a.told.bytes(p, sent)
		if chunked {
			if _, err := fmt.Fprintf(e, "%x\r\n", len(p)); err != nil {
				return false
			}
		}
		k, err := e.Write(p)
		a.told.sent(int64(k))
		if err != nil {
			return false
		}
		if chunked {
			if _, err := e.Write([]byte("\r\n")); err != nil {
				return false
			}
		}
		sent += int64(k)
	}
	if chunked && a.after == endWell {
		if _, err := e.Write([]byte("0\r\n\r\n")); err != nil {
			return false
		}
	}
	if last {
		e.finishBy(a.after)
	}
	return !last
}
