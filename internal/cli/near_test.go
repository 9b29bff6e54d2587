package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
)

func TestNearest(t *testing.T) {
	words := []string{"quiet", "links", "link", "output", "man", "version", "report"}
	for word, want := range map[string]string{
		"quite": "quiet", "lnks": "links", "lonk": "link", "outptu": "output", "vresion": "version", "simualte": "",
		"reprot": "report", "localhost": "", "men": "", "port": "", "q": "", "": "", "quick": "",
	} {
		if got := nearest(word, words, 2); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

// TestMistypedCommandIsNoHost: a slip in a command is told, and is no host; hosts remain hosts.
func TestMistypedCommandIsNoHost(t *testing.T) {
	root := newRootCommand(console.IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	for word, want := range map[string]string{"link": "links", "Lniks": "links", "versiom": "version", "repotr": "report", "simulat": "simulate"} {
		err := misread(root, []string{word, "x"})
		if code, hint := exit.Classify(err); code != exit.Usage || !strings.Contains(err.Error(), want) || !strings.Contains(hint, "mlget "+want+"?") {
			t.Errorf("%s: %d, %v, %q", word, code, err, hint)
		}
	}
	for _, host := range []string{
		"localhost", "docker", "record", "export", "nas", "mac", "fritz", "router", "links.example", "link/x", "http://link", "link:80", "bench1", "port", "127",
	} {
		if err := misread(root, []string{host, "example.org"}); (err != nil) != (host == "127") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if err := misread(root, nil); err != nil {
		t.Error(err)
	}
}
