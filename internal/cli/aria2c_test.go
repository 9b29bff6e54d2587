package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/cli/console"
)

// TestExitCodesLikeAria2 runs the same commands as aria2c and by aria2c itself.
func TestExitCodesLikeAria2(t *testing.T) {
	name, err := exec.LookPath("aria2c")
	if err != nil {
		t.Skip("there is no aria2c here")
	}
	text := bytes.Repeat([]byte("text"), 1000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/named":
			w.Header().Set("Content-Disposition", `attachment; filename="it is called.so"`)
			fallthrough
		case "/a", "/b.x.tar.gz", "/c", "/d", "/g", "/h", "/k":
			http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(text))
		case "/locked":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	run := func(aria2 bool, words []string) int {
		if !aria2 {
			return MainAs("aria2c", words, console.IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
		}
		cmd := exec.CommandContext(t.Context(), name, words...)
		_ = cmd.Run() // the code says it
		return cmd.ProcessState.ExitCode()
	}
	ours, theirs := t.TempDir(), t.TempDir()
	for _, c := range []struct{ args, file string }{
		{"URL/a", "a"},
		{"URL/none", ""},
		{"--nonsense URL/a", ""},
		{"URL/locked", ""},
		{"-o sum --checksum=sha-1=0123456789012345678901234567890123456789 URL/a", ""},
		{"-o second URL/none URL/a", "second"},
		{"-o once --auto-file-renaming=false URL/a", "once"},
		{"-o once --auto-file-renaming=false URL/a", "once"},
		{"-o once -c URL/a", "once"},
		{"-o once --allow-overwrite=true URL/a", "once"},
		{"-o once.x URL/a", "once.x"},
		{"-o once.x URL/a", "once.1.x"},
		{"-o sub/deep/a URL/a", "sub/deep/a"},
		{"-v", ""},
		{"-h", ""},
		{"--help=#http", ""},
		{"", ""},
		{"URL/a", "a.1"},
		{"-c URL/a", "a"},
		{"-c URL/k", "k"},
		{"--allow-overwrite URL/a", "a"},
		{"--auto-file-renaming=false URL/a", "a"},
		{"URL/named", "it is called.so"},
		{"URL/b.x.tar.gz", "b.x.tar.gz"},
		{"URL/b.x.tar.gz", "b.x.tar.1.gz"},
		{"--dry-run=true URL/c", "!c"},
		{"--dry-run URL/none", ""},
		{"-P URL/{d,e}", "d"},
		{"-Z -P URL/{g,h}", "h"},
		{"URL/{i,j}", ""},
		{"--max-conn=4 --spl=4 -o short URL/a", "short"},
		{"--max-=4 URL/a", ""},
		{"-R -S -D=x URL/a", ""},
		{"-R -p -u 1K -o letters URL/a", "letters"},
		{"--all-proxy-user=u --all-proxy-passwd=p -o proxied URL/a", "proxied"},
		{"--seed-time=0 --bt-max-peers 10 --ftp-pasv --enable-dht=false --metalink-os=linux -o others URL/a", "others"},
		{"--split=0 URL/a", ""},
		{"-x17 URL/a", ""},
		{"-k 1K URL/a", ""},
		{"--file-allocation=foo URL/a", ""},
		{"--console-log-level=foo URL/a", ""},
		{"--timeout=0 URL/a", ""},
		{"--max-tries=x URL/a", ""},
		{"--checksum=sha-1=0 URL/a", ""},
		{"-x16 -s16 -k1M -j5 --file-allocation=falloc -o many URL/a", "many"},
	} {
		args := strings.Fields(strings.ReplaceAll(c.args, "URL", s.URL))
		got := run(false, append([]string{"--no-conf", "-q", "-d", ours}, args...))
		want := run(true, append([]string{"--no-conf", "-q", "-d", theirs}, args...))
		if got != want {
			t.Errorf("aria2c %s: exit code %d, theirs %d", c.args, got, want)
		}
		for _, dir := range []string{ours, theirs} {
			if c.file == "" {
				continue
			}
			if name, isNone := strings.CutPrefix(c.file, "!"); isNone {
				if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
					t.Errorf("aria2c %s: %s is there", c.args, name)
				}
				continue
			}
			if b, err := os.ReadFile(filepath.Join(dir, c.file)); err != nil || !bytes.Equal(b, text) {
				t.Errorf("aria2c %s: %v", c.args, err)
			}
		}
	}
}

// consoleLines are the lines of aria2's console, as programs read them. The test holds aria2's
// own lines against them, too.
func consoleLines() *regexp.Regexp {
	const (
		bytes = `(\d+B|\d\.\d[KMG]iB|\d+[KMG]iB)`
		file  = `#[0-9a-f]{6} ` + bytes + `/` + bytes + `(\(\d+%\))?`
	)
	return regexp.MustCompile(`^(` + strings.Join([]string{
		`\[` + file + ` CN:\d+ DL:` + bytes + `( ETA:(\d+h)?(\d+m)?\d+s)?\]`,
		`\[DL:` + bytes + `\](\[` + file + `\])+`,
		` \*\*\* Download Progress Summary as of \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4} \*\*\* `,
		`={79}`, `-{79}`, `FILE: .*`, ``,
		`Download Results:`, `gid   \|stat\|avg speed  \|path/URI`, `={6}\+={4}\+={11}\+={55}`,
		`[0-9a-f]{6}\|(OK  |ERR |INPR)\| *(` + bytes + `/s|n/a)\|(/.*/a|http://.*/none)`,
		`Status Legend:`, `\(OK\):download completed\.(\(ERR\):error occurred\.)?`,
	}, "|") + `)$`)
}

// TestConsoleLikeAria2 runs the same commands as aria2c and by aria2c itself, and holds both to
// the same lines.
func TestConsoleLikeAria2(t *testing.T) {
	name, err := exec.LookPath("aria2c")
	if err != nil {
		t.Skip("there is no aria2c here")
	}
	t.Parallel()
	text := bytes.Repeat([]byte("text"), 150_000)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/a" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		http.ServeContent(w, r, "", time.Unix(1e9, 0), bytes.NewReader(text))
	}))
	t.Cleanup(s.Close) // after the parallel parts
	for _, urls := range [][]string{{s.URL + "/a"}, {"-Z", s.URL + "/none", s.URL + "/a"}} {
		for _, ours := range []bool{false, true} {
			t.Run(fmt.Sprint(ours, len(urls)), func(t *testing.T) {
				t.Parallel()
				checkConsole(t, name, ours, urls)
			})
		}
	}
}

// checkConsole runs aria2c, or mlget as aria2c, for one file that is there.
func checkConsole(t *testing.T, name string, ours bool, urls []string) {
	words := append([]string{
		"--no-conf", "--console-log-level=error", "--enable-color=false", "--max-overall-download-limit=250K", "--summary-interval=1",
		"--file-allocation=none", "-d", t.TempDir(),
	}, urls...)
	var out bytes.Buffer
	if ours {
		MainAs("aria2c", words, console.IO{In: strings.NewReader(""), Out: &out, Err: io.Discard})
	} else {
		cmd := exec.CommandContext(t.Context(), name, words...)
		cmd.Stdout = &out
		_ = cmd.Run() // of a file that is not there
	}
	lines, seen := consoleLines(), map[string]bool{}
	for line := range strings.SplitSeq(strings.TrimRight(out.String(), "\n"), "\n") {
		if strings.Contains(line, "[ERROR]") || strings.HasPrefix(line, "Exception:") || strings.HasPrefix(line, "  ->") ||
			strings.HasPrefix(line, "aria2 will resume") || strings.HasPrefix(line, "If there are any errors") {
			continue // for people: ours are on standard error
		}
		if !lines.MatchString(line) {
			t.Errorf("the line %q", line)
		}
		seen[line[:min(6, len(line))]] = true
	}
	for _, want := range []string{"FILE: ", "Downlo", "Status", " *** D"} {
		if !seen[want] {
			t.Errorf("no line begins with %q:\n%s", want, out.String())
		}
	}
	if !regexp.MustCompile(`(?m)^\[#[0-9a-f]{6} .*DL:`).Match(out.Bytes()) || !regexp.MustCompile(`(?m)\|OK  \|.*/a$`).Match(out.Bytes()) {
		t.Errorf("no readout, or no result:\n%s", out.String())
	}
}
