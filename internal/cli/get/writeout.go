package get

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/pkg/scheduler"
)

// maxFormat is how long a --write-out format in a file may be, in bytes.
const maxFormat = 1 << 20

// writeOut is the output of --write-out: for each file, after the last has ended.
type writeOut struct {
	parts   []formatPart
	facts   map[event.FileID]*fileFacts
	answers *answers // the servers'
	upload  int64    // bytes of the body that goes with the request
}

// fileFacts are facts of a file that the report does not have.
type fileFacts struct {
	started   scheduler.Time
	firstByte scheduler.Time // 0: none came
	known     bool           // the server has answered
	ranges    bool           // with parts
	resumed   bool           // a part was there
}

// writeOutput makes what --write-out says; nil for nothing.
func (o *Options) writeOutput(stdio console.IO) (*writeOut, error) {
	if o.writeOut == "@-" && o.inputFile == "-" {
		return nil, exit.Usagef("--write-out @- and --input-file - both read standard input")
	}
	w, err := newWriteOut(o.writeOut, stdio.In, func(text string) { exit.Print(stdio.Err, errors.New(text), "") })
	if err == nil && (o.json || o.reportFile == "-" || o.recordFile == "-") && w.toOutput() {
		return nil, exit.Usagef("a report or a record and --write-out cannot both use standard output; a format that begins with %%{stderr} goes to standard error")
	}
	return w, err
}

// newWriteOut reads a format as curl does: @FILE and @- stand for a file's content. It returns
// nil for no format, and warns of unknown variables.
func newWriteOut(format string, in io.Reader, warn func(text string)) (*writeOut, error) {
	if format == "" {
		return nil, nil
	}
	if name, isFile := strings.CutPrefix(format, "@"); isFile {
		text, err := readFormat(name, in)
		if err != nil {
			return nil, exit.FileError{Err: fmt.Errorf("--write-out: %w", err)}
		}
		format = text
	}
	w := &writeOut{parts: parseFormat(format), facts: map[event.FileID]*fileFacts{}}
	var told []string
	for _, p := range w.parts {
		if p.variable != "" && !isVariable(p.variable) && !slices.Contains(told, p.variable) {
			told = append(told, p.variable)
			warn("unknown --write-out variable: '" + p.variable + "'")
		}
	}
	return w, nil
}

func readFormat(name string, in io.Reader) (string, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer f.Close() //nolint:errcheck // it is only read
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxFormat+1))
	if err == nil && len(text) > maxFormat {
		err = errors.New("the format is longer than 1M")
	}
	return string(text), err
}

// toOutput says whether anything goes to standard output.
func (w *writeOut) toOutput() bool {
	return w != nil && (len(w.parts) == 0 || w.parts[0].variable != "stderr" || slices.ContainsFunc(w.parts, func(p formatPart) bool { return p.variable == "stdout" }))
}

// watch gathers what the report does not tell.
func (w *writeOut) watch(sub *event.Subscription) {
	for e := range sub.All() {
		w.add(e)
	}
}

func (w *writeOut) add(e event.Event) {
	switch e := e.(type) {
	case event.FileStarted:
		w.facts[e.File] = &fileFacts{started: e.At}
	case event.ObjectKnown:
		if f := w.facts[e.File]; f != nil {
			f.known, f.ranges, f.resumed = true, e.Ranges, e.Resumed > 0
		}
	case event.RequestEnded:
		if f := w.facts[e.File]; f != nil && e.FirstByte > 0 && (f.firstByte == 0 || e.FirstByte < f.firstByte) {
			f.firstByte = e.FirstByte
		}
	}
}

// write prints the format for each file of the report, of which result knows more.
func (w *writeOut) write(r report.Report, result *outcome, stdio console.IO) error {
	if w == nil {
		return nil
	}
	files := r.Files
	if len(files) == 0 {
		files = []report.File{{
			URL: r.URL, EffectiveURL: r.EffectiveURL, Output: r.Output, HTTP: r.HTTP, SizeBytes: r.SizeBytes,
			Seconds: r.Seconds, Retries: r.Retries, ExitCode: r.ExitCode, Error: r.Error,
		}}
		for _, l := range r.Links {
			files[0].Bytes += l.Bytes
		}
	}
	for i, f := range files {
		values := w.values(r, f, event.FileID(i), result.status(event.FileID(i)))
		if err := values.print(w.parts, stdio); err != nil {
			return err
		}
	}
	return nil
}

// values gives every variable's value for a file; status is that of the error
// response that ended it, or 0.
func (w *writeOut) values(r report.Report, f report.File, id event.FileID, status int) values {
	v := values{}
	v.text("errormsg", f.Error)
	v.int("exitcode", int64(f.ExitCode))
	if f.ExitCode == 0 { // else nothing has got that name
		v.text("filename_effective", f.Output)
	} else {
		v.text("filename_effective", "")
	}
	code, raw, first := 0, 0, 0.0
	if facts := w.facts[id]; facts != nil {
		if facts.known {
			code, raw = http.StatusOK, http.StatusOK
		}
		if facts.ranges { // of what is whole it is a detail how it came
			raw = http.StatusPartialContent
		}
		if facts.ranges && facts.resumed {
			code = http.StatusPartialContent
		}
		if facts.firstByte > facts.started {
			first = (facts.firstByte - facts.started).Seconds()
		}
	}
	if status != 0 {
		code, raw = status, status
	}
	answer := w.answers.about(f.EffectiveURL)
	v.text("content_type", answer.contentType)
	v.int("num_headers", int64(answer.headers))
	v.int("num_redirects", int64(answer.redirects))
	scheme, _, _ := strings.Cut(f.EffectiveURL, ":")
	v.text("scheme", strings.ToUpper(scheme))
	v.int("size_upload", w.upload)
	v.code("http_code", code)
	v.code("http_code_raw", raw)
	v.code("response_code", code)
	v.text("http_version", f.HTTP)
	if f.HTTP == "" {
		v.text("http_version", "0")
	}
	v.seconds("link_delta", r.LinkDeltaSeconds)
	v.text("method", "GET")
	v.text("mlget_version", r.Version)
	v.int("num_retries", int64(f.Retries))
	v.int("size_download", f.Bytes)
	speed := 0.0
	if f.Seconds > 0 {
		speed = float64(f.Bytes) / f.Seconds
	}
	v.int("speed_download", int64(speed))
	v.seconds("time_starttransfer", first)
	v.seconds("time_total", f.Seconds)
	v.text("url", f.URL)
	v.text("url_effective", f.EffectiveURL)
	v.int("urlnum", int64(id))
	v.links(r)
	return v
}

// links are the variables of the run's links; addresses are those of the link that carried
// most.
func (v values) links(r report.Report) {
	var best report.Link
	names, conns := []string{}, 0
	for _, l := range r.Links {
		conns += l.Connections
		if l.Bytes == 0 {
			continue
		}
		names = append(names, l.Name)
		if l.Bytes > best.Bytes {
			best = l
		}
	}
	v.list("links", names)
	v.int("num_connects", int64(conns))
	for where, address := range map[string]string{"local": best.LocalAddr, "remote": best.RemoteAddr} {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			host, port = "", "0"
		}
		v.text(where+"_ip", host)
		v.number(where+"_port", port)
	}
}
