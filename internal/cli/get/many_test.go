package get

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/engine"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/fetch"
)

// feed runs a feeder over a task and gives what it makes, as "name in sub: URL".
func feed(t *testing.T, o *Options, args []string, in io.Reader) (jobs []string, out *outcome) {
	t.Helper()
	task, err := o.task(t.Context(), args, console.IO{In: in})
	if err != nil {
		t.Fatal(err)
	}
	defer task.close()
	out = &outcome{bus: &event.Bus{}}
	f := &feeder{o: o, task: task, warn: func(bool, string) {}, named: new(fetch.Origins), out: out, jobs: make(chan *engine.Job)}
	go f.run(t.Context())
	for job := range f.jobs {
		if int(job.ID) != len(jobs) {
			t.Errorf("job %d is number %d", len(jobs), job.ID)
		}
		at, err := filepath.Rel(o.dir, job.Target.Path(job.URL))
		if err != nil {
			t.Error(err)
		}
		jobs = append(jobs, filepath.ToSlash(at)+" "+job.URL.String())
	}
	if n := f.ahead.Load(); n != 0 {
		t.Errorf("%d are still to come", n)
	}
	return jobs, out
}

func TestFeederNames(t *testing.T) {
	o := &Options{dir: t.TempDir(), inputFile: "-"}
	got, _ := feed(t, o, []string{"h/x", "http://h/y/x"}, strings.NewReader(
		"h/x\nh/z\n out=x\nh/a\n dir=/etc/../x\n out=../../b/c\nh/\nh/"+strings.Repeat("l", 300)+"\nh/"+strings.Repeat("l", 300)+"\n"))
	long := strings.Repeat("l", 236)
	want := []string{
		"x http://h/x", "x.1 http://h/y/x", "x.2 http://h/x", "x.3 http://h/z",
		"etc/_./x/_./_./b/c http://h/a", "index.html http://h/",
		long + " http://h/" + strings.Repeat("l", 300), long[:234] + ".1 http://h/" + strings.Repeat("l", 300),
	}
	if runtime.GOOS == "windows" { // no dot may be at the end
		want[4] = "etc/_/x/_/_/b/c http://h/a"
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The first job of a pipe is out while the pipe is still open, and the feeder ends
// when the run does, whatever the pipe does.
func TestFeederStreams(t *testing.T) {
	r, w := io.Pipe()
	o := &Options{dir: t.TempDir(), inputFile: "-"}
	task, err := o.task(t.Context(), nil, console.IO{In: r})
	if err != nil {
		t.Fatal(err)
	}
	f := &feeder{o: o, task: task, warn: func(bool, string) {}, named: new(fetch.Origins), out: &outcome{bus: &event.Bus{}}, jobs: make(chan *engine.Job)}
	ctx, cancel := context.WithCancel(t.Context())
	go f.run(ctx)
	if _, err := io.WriteString(w, "h/first\nh/second\n"); err != nil {
		t.Fatal(err)
	}
	if job := <-f.jobs; job.URL.Path != "/first" {
		t.Errorf("it is %s", job.URL)
	}
	cancel()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for range f.jobs { //nolint:revive // until it is closed
	}
}

func TestOutcome(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: "h", Path: "/x"}
	other, disk := errors.New("other"), exit.FileError{Err: errors.New("no room")}
	for name, c := range map[string]struct {
		files []error // in the order in which they end, each with its place behind it
		at    []int
		whole error
		want  error
		said  []string
	}{
		"none":                    {nil, nil, nil, nil, nil},
		"one":                     {[]error{other}, []int{3}, other, other, []string{"http://h/x: other"}},
		"the first of the order":  {[]error{other, disk}, []int{3, 1}, other, disk, []string{"http://h/x: no room", "http://h/x: other"}},
		"interrupted":             {[]error{other, engine.ErrInterrupted}, []int{1, 0}, engine.ErrInterrupted, engine.ErrInterrupted, []string{"http://h/x: other", "interrupted", "hint: the same"}},
		"time is over":            {[]error{exit.ErrMaxTime, exit.ErrMaxTime}, []int{1, 0}, exit.ErrMaxTime, exit.ErrMaxTime, []string{"the time limit", "hint: the same"}},
		"time is over, and a 404": {[]error{exit.ErrMaxTime, other}, []int{0, 1}, exit.ErrMaxTime, other, []string{"http://h/x: other", "the time limit", "hint: the same"}},
		"the whole":               {nil, nil, disk, disk, []string{"no room"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := &outcome{bus: &event.Bus{}}
			for i, err := range c.files {
				out.Ended(&engine.Job{ID: fileID(c.at[i]), URL: u}, engine.Result{}, err)
			}
			if got := out.close(c.whole); !errors.Is(got, c.want) || (got == nil) != (c.want == nil) {
				t.Errorf("the run's error is %v, want %v", got, c.want)
			}
			var text strings.Builder
			out.say(&text, true)
			lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
			if text.Len() == 0 {
				lines = nil
			}
			if len(lines) != len(c.said) {
				t.Fatalf("it says %q", lines)
			}
			for i, line := range lines {
				if !strings.HasPrefix(line, "mlget: "+c.said[i]) {
					t.Errorf("line %d is %q, want %q", i, line, c.said[i])
				}
			}
		})
	}
}

// A hundred thousand failures take no more memory, nor lines, than twenty.
func TestOutcomeOfMany(t *testing.T) {
	out := &outcome{bus: &event.Bus{}}
	for i := range 100_000 {
		out.Ended(&engine.Job{ID: fileID(i), URL: &url.URL{Scheme: "http", Host: "h", Path: fmt.Sprint("/", i)}}, engine.Result{}, errors.New("no"))
	}
	_ = out.close(nil)
	var text strings.Builder
	out.say(&text, true)
	if n := strings.Count(text.String(), "\n"); n != maxSaid+1 || !strings.Contains(text.String(), "and 99980 more that failed\n") {
		t.Errorf("%d lines:\n%s", n, text.String())
	}
	if len(out.said) != maxSaid {
		t.Errorf("%d errors are kept", len(out.said))
	}
}

// dialer is a link that works, or does not.
type dialer struct {
	name  string
	err   error
	dials *atomic.Int64
}

func (d dialer) Name() string { return d.name }

func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d.dials.Add(1)
	if d.err != nil {
		return nil, d.err
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

func TestPages(t *testing.T) {
	answers := make(chan int, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/silent/" {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "<a href=")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		if code := <-answers; code != 200 {
			w.WriteHeader(code)
			return
		}
		if r.URL.Path == "/to" {
			http.Redirect(w, r, "/to/", http.StatusMovedPermanently)
			return
		}
		_, _ = io.WriteString(w, "the page")
	}))
	defer server.Close()
	for name, c := range map[string]struct {
		links   []error
		answers []int
		path    string
		class   fetch.Class // 0: the page comes
		dials   []int64
	}{
		"at once":               {[]error{nil, nil}, []int{200}, "/", 0, []int64{1, 0}},
		"the first is a backup": {[]error{nil, nil}, []int{200}, "/", 0, []int64{0, 1}},
		"redirected":            {[]error{nil}, []int{200, 200}, "/to", 0, []int64{1}},
		"over the second link":  {[]error{errors.New("no route"), nil}, []int{200}, "/", 0, []int64{1, 1}},
		"busy at first":         {[]error{nil}, []int{503, 200}, "/", 0, []int64{1}},
		"not there":             {[]error{nil, nil}, []int{404, 404}, "/", fetch.Status, []int64{1, 1}},
		"denied over one link":  {[]error{nil, nil}, []int{403, 200}, "/", 0, []int64{1, 1}},
		"a portal's TLS":        {[]error{&fetch.Error{Class: fetch.TLS}, nil}, []int{200}, "/", 0, []int64{1, 1}},
		"denied, then no route": {[]error{nil, errors.New("no route")}, []int{403}, "/", fetch.Status, []int64{1, 1}},
		"fails":                 {[]error{nil}, []int{500, 500, 500}, "/", fetch.Busy, []int64{1}},
		"fails over two links":  {[]error{nil, nil}, []int{500, 500, 500}, "/", fetch.Busy, []int64{1, 1}},
		"no link works":         {[]error{errors.New("no route")}, nil, "/", fetch.Network, []int64{pageRounds}},
		"a page that stops":     {[]error{nil}, nil, "/silent/", fetch.Canceled, []int64{pageRounds}},
	} {
		t.Run(name, func(t *testing.T) {
			var links []engine.Network
			dials := make([]atomic.Int64, len(c.links))
			for i, err := range c.links {
				links = append(links, dialer{fmt.Sprint("link", i), err, &dials[i]})
			}
			for _, code := range c.answers {
				answers <- code
			}
			terms := make([]engine.Terms, len(links))
			if name == "the first is a backup" {
				terms[0].Backup = true
			}
			silence := 20 * time.Second // no machine is as busy as that
			if c.path == "/silent/" {
				silence = time.Second
			}
			p := newPages(&fetch.Config{}, linksOver(links, terms), silence, flags.Tries{N: 20})
			defer p.close()
			u, err := url.Parse(server.URL + c.path)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.get(t.Context(), u)
			var web *fetch.Error
			switch {
			case c.class == 0 && (err != nil || string(got.text) != "the page" || !strings.HasPrefix(got.at.Path, c.path)):
				t.Errorf("%q at %v, %v", got.text, got.at, err)
			case c.class != 0 && (!errors.As(err, &web) || web.Class != c.class):
				t.Errorf("%v", err)
			}
			for i := range dials {
				if got := dials[i].Load(); got != c.dials[i] {
					t.Errorf("link %d was dialled %d times, want %d", i, got, c.dials[i])
				}
			}
		})
	}
}

// A list in a file is looked through before anything is fetched.
func TestTask(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) string {
		path := filepath.Join(dir, "list")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	task, err := (&Options{inputFile: write("h/a\nh/b\n\nh/c\n")}).task(t.Context(), []string{"h/d"}, console.IO{})
	if err != nil || task.files() != 4 || task.one != nil {
		t.Fatalf("%+v, %v", task, err)
	}
	task.close()
	for text, want := range map[string]string{
		"":                           "names no URL",
		"h/a\nftp://x/y\n":           "list, line 2: ftp://x/y: only http and https",
		"h/a\n checksum=md5=1\nh/b":  "list, line 1: checksum=: ",
		" out=x\nh/a":                "list, line 1: an option stands before the first URL",
		"http://user:secret@[bad/\n": "list, line 1: the URL cannot be read",
	} {
		_, err := (&Options{inputFile: write(text)}).task(t.Context(), nil, console.IO{})
		if code, _ := exit.Classify(err); code != exit.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
