package fetch

import (
	"errors"
	"io"
	"net/http"
	"syscall"
	"time"

	"github.com/mlget/mlget/internal/errno"
)

// Some servers cannot answer a request for a range: they answer 400, 403, 500 or 501, hang up,
// send several parts, or a part that was not requested. Without Range they send the object, so
// it is requested once more, before any byte of it has come. The server's behaviour is
// remembered for the rest of a run.

const (
	// refusedMost is how many objects may have been refused over a link without Range, too, before
	// none is asked for twice any more. One whose server sends another part than was asked for is
	// asked for twice in any case, unless that comes without Range as well: such a server has it.
	refusedMost = 3
	// brokenFrom is how many first requests in a row have to fail in a way that may pass
	// before the next one goes without Range.
	brokenFrom = 2
)

// habits is a server's behaviour with ranges. Peers.mu guards it.
type habits struct {
	ranges  bool // it has served one
	plain   bool // it has refused one, and sent the object without
	refused int  // objects that it has refused without Range, too
	parts   int  // of these, those of which it has sent a part
	broken  int  // first requests in a row that have failed so that it may pass
	most    int  // connections at a time on which it had answered

	rtt time.Duration // of the latest handshake over a link; 0: there was none
}

// plainly says whether the first request of an object goes without Range: what a server has
// done over the link counts, and else what it has done over any.
func (p *Peers) plainly(key originKey, link Trace) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, over := p.habits(key, link)
	return !over.ranges && (over.plainly() || !all.ranges && all.plainly())
}

func (h *habits) plainly() bool { return h.plain || h.broken >= brokenFrom }

// habits are those of a server over all links, and over one: each link may lead to a server
// of its own.
func (p *Peers) habits(key originKey, link Trace) (all, over *habits) {
	return p.of(p.server(key), link)
}

func (*Peers) of(s *server, link Trace) (all, over *habits) {
	if over = s.over[link]; over == nil {
		over = new(habits)
		s.over[link] = over
	}
	return &s.habits, over
}

// serves says whether a server has served a range over a link.
func (p *Peers) serves(key originKey, link Trace) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, over := p.habits(key, link)
	return over.ranges
}

// brought notes that a request has received a range, or the whole: without Range, or although a
// range was requested.
func (p *Peers) brought(key originKey, link Trace, plain, whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, over := p.habits(key, link)
	all.brought(plain, whole)
	over.brought(plain, whole)
}

func (h *habits) brought(plain, whole bool) {
	h.broken = 0
	switch {
	case !whole:
		h.ranges, h.plain = true, false
	case plain:
		h.plain, h.refused, h.parts = !h.ranges, 0, 0
	}
}

// failed notes how the first request of an object has failed, and says whether it is worth
// being made once more without Range.
func (p *Peers) failed(key originKey, link Trace, plain bool, err *Error) (again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, over := p.habits(key, link)
	all.failed(plain, err)
	over.failed(plain, err)
	refused := over.refused
	if errors.As(err, new(otherPart)) {
		refused = over.parts
	}
	return !plain && !mayPass(err) && refusesRange(err, over.ranges) && refused < refusedMost
}

func (h *habits) failed(plain bool, err *Error) {
	switch {
	case plain:
		h.broken = 0
		if refusesRange(err, false) {
			h.refused++
		}
		if errors.As(err, new(otherPart)) {
			h.parts++
		}
	case mayPass(err):
		h.broken++
	}
}

// RefusesRange says whether an error may be about the range that was asked for: of a request
// that went without, none is.
func RefusesRange(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && !e.plain && (refusesRange(e, false) || e.Status == http.StatusInternalServerError)
}

// MayRefuseRange is RefusesRange, or says that the connection has ended, which is how some servers
// refuse.
func MayRefuseRange(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return RefusesRange(err) || ok && !e.plain && mayPass(e)
}

// without is an error of a request that went without Range, if it did. Others may have e, too.
func (e *Error) without(plain bool) *Error {
	if !plain {
		return e
	}
	marked := *e
	marked.plain = true
	return &marked
}

// refusesRange says whether an error may be about the range that was asked for. Where others
// were served it may be about one that ends behind the object: webfsd's 400.
func refusesRange(e *Error, served bool) bool {
	switch e.Status {
	case http.StatusBadRequest:
		return true
	case http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusPreconditionFailed, http.StatusNotImplemented:
		return !served
	}
	return errors.As(e, new(otherPart))
}

// mayPass says whether an error that may be about the range may be an accident as well.
func mayPass(e *Error) bool {
	return e.Status == http.StatusInternalServerError ||
		e.Class == Network && (errors.Is(e, io.ErrUnexpectedEOF) || errno.IsReset(e) || errors.Is(e, syscall.EPIPE) || errors.Is(e, errReset))
}
