package get

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
)

// answers keeps the headers of servers' answers: for people (-S), and in a file (-D). A file
// comes in many ranges, so each status of a URL is shown once. It is a fetch.Answers.
type answers struct {
	bus  *event.Bus // nil: people want none
	dump io.Writer  // nil: no file is wanted
	file io.Closer  // nil: dump is not ours

	save string // names a file for the object's ETag; empty: none is wanted

	mu    sync.Mutex
	etag  string
	seen  map[string]bool
	facts map[string]answerFacts // by URL without user; nil: -w wants none
	err   error                  // the file's
}

// answerFacts are the facts of a URL's answer that -w can print.
type answerFacts struct {
	contentType string
	headers     int // lines of its header
	redirects   int // that led there
}

// openAnswers opens what -S and -D name; nil: nothing.
func (o *Options) openAnswers(stdout io.Writer, bus *event.Bus) (*answers, error) {
	if !o.showAnswers && o.dumpHeader == "" && !o.head && o.conditions.saveETag == "" && o.writeOut == "" {
		return nil, nil
	}
	a := &answers{seen: map[string]bool{}, save: o.conditions.saveETag}
	if o.writeOut != "" {
		a.facts = map[string]answerFacts{}
	}
	if o.showAnswers {
		a.bus = bus
	}
	switch {
	case o.head, o.dumpHeader == "-":
		a.dump = stdout
	case o.dumpHeader != "": // cookies are in it
		f, err := os.OpenFile(o.dumpHeader, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, exit.FileError{Err: fmt.Errorf("--dump-header: %w", err)}
		}
		a.dump, a.file = f, f
	}
	return a, nil
}

// Answered implements fetch.Answers.
func (a *answers) Answered(u *url.URL, h *http.Response) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if h.StatusCode/100 == 2 {
		a.etag = h.Header.Get("Etag")
	}
	at := fetch.WithoutUser(u)
	key := fmt.Sprint(at, h.StatusCode)
	if a.seen[key] {
		return
	}
	a.seen[key] = true
	a.note(at, h)
	if a.dump == nil && a.bus == nil {
		return
	}
	text := headerText(h)
	if a.dump != nil && a.err == nil {
		_, a.err = io.WriteString(a.dump, text+"\r\n")
	}
	if a.bus == nil {
		return
	}
	for line := range strings.Lines(text) {
		n := event.Notice{Warning: true, Text: strings.TrimRight(line, "\r\n")}
		if name, _, ok := strings.Cut(n.Text, ":"); ok && strings.EqualFold(name, "Set-Cookie") {
			n.Text, n.Shown = name+": (not kept; -D writes it)", n.Text
		}
		a.bus.Publish(n)
	}
}

// note keeps what -w tells; mu is held.
func (a *answers) note(u *url.URL, h *http.Response) {
	if a.facts == nil {
		return
	}
	f := a.facts[u.String()]
	f.contentType, f.headers = h.Header.Get("Content-Type"), 0
	for _, values := range h.Header {
		f.headers += len(values)
	}
	a.facts[u.String()] = f
	to, err := u.Parse(h.Header.Get("Location"))
	if h.StatusCode/100 != 3 || err != nil || h.Header.Get("Location") == "" {
		return
	}
	next := fetch.WithoutUser(to).String()
	led := a.facts[next]
	led.redirects = f.redirects + 1
	a.facts[next] = led
}

// about returns the noted facts of the answer at a URL without user.
func (a *answers) about(effective string) answerFacts {
	if a == nil {
		return answerFacts{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.facts[effective]
}

// headerText is an answer's status and header, with their ends of lines.
func headerText(h *http.Response) string {
	var b bytes.Buffer
	_, reason, told := strings.Cut(strings.TrimSpace(h.Status), " ")
	if !told {
		reason = http.StatusText(h.StatusCode)
	}
	fmt.Fprintf(&b, "HTTP/%d.%d %d %s\r\n", h.ProtoMajor, h.ProtoMinor, h.StatusCode, reason)
	_ = h.Header.Write(&b) // a bytes.Buffer
	return b.String()
}

// close ends the file.
func (a *answers) close() error {
	if a == nil {
		return nil
	}
	if a.file != nil {
		if err := a.file.Close(); a.err == nil {
			a.err = err
		}
	}
	if a.save != "" && a.etag != "" && a.err == nil {
		if err := os.WriteFile(a.save, []byte(a.etag+"\n"), 0o666); err != nil { //nolint:gosec // as curl's
			return exit.FileError{Err: fmt.Errorf("--etag-save: %w", err)}
		}
	}
	if a.err != nil {
		return exit.FileError{Err: fmt.Errorf("--dump-header: %w", a.err)}
	}
	return nil
}
