package get

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/engine"
)

// Only where all URLs are known and lead to this machine may the loopback link stand
// for auto: what a list or a server names later must not.
func TestURLsOfThisMachine(t *testing.T) {
	urls := func(texts ...string) (all []*url.URL) {
		for _, text := range texts {
			u, err := flags.ParseURL(text)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, u)
		}
		return all
	}
	ask := named{"proxied.example": "http://127.0.0.1:3128", "localhost.proxied": "http://proxy.example:3128"}
	for _, text := range []string{
		"http://localhost/x", "http://LOCALHOST.:80/", "http://files.localhost/", "http://proxied.example/", "https://127.0.0.1:8443/", "http://127.9.9.9/", "http://[::1]:80/", "http://[::ffff:127.0.0.1]/",
		"http://0.0.0.0:8000/", "http://[::]/", "http://[::ffff:0.0.0.0]/",
	} {
		if !(&task{urls: urls(text)}).here(t.Context(), ask, nil) || !(&task{one: &engine.Job{URL: urls(text)[0]}}).here(t.Context(), ask, nil) {
			t.Errorf("%s is elsewhere", text)
		}
	}
	for _, text := range []string{
		"http://localhost.example/", "http://notlocalhost/", "http://localhost.proxied/", "http://192.0.2.1/", "http://[2001:db8::1]/", "http://128.0.0.1/", "http://127.0.0.1.example/",
	} {
		if (&task{urls: urls("http://localhost/", text)}).here(t.Context(), ask, nil) {
			t.Errorf("%s is here", text)
		}
	}
}

// TestListsThatAreHere: all URLs of a file, and the first one of a pipe, say whether a list
// is of this machine; the list is read from its beginning all the same.
func TestListsThatAreHere(t *testing.T) {
	for text, want := range map[string]bool{
		"http://localhost/a\nhttp://127.0.0.1/b\n": true,
		"http://example.org/a\nhttp://localhost/b": false,
	} {
		file := filepath.Join(t.TempDir(), "list")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{inputFile: file}, {inputFile: "-"}} {
			l, err := o.openList(t.Context(), strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if have := (&task{list: l}).here(t.Context(), named{}, nil); have != want {
				t.Errorf("%s of %q: here is %v", o.inputFile, text, have)
			}
			n := 0
			for ; err == nil; n++ {
				_, _, _, err = l.next()
			}
			if n != 3 || !errors.Is(err, io.EOF) {
				t.Errorf("%s of %q: %d entries, %v", o.inputFile, text, n-1, err)
			}
			l.close()
		}
	}
	// One of which nothing comes is waited for until the run ends, and read then.
	in, out := io.Pipe()
	l, err := (&Options{inputFile: "-"}).openList(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if (&task{list: l}).here(ctx, named{}, nil) {
		t.Error("a list is here of which nothing has come")
	}
	go out.CloseWithError(io.EOF) //nolint:errcheck // it never fails
	if _, _, _, err := l.next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
