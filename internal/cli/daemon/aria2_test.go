package daemon

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/aria2rpc/aria2test"
)

// pair is two servers that are asked the same: our daemon, and the real aria2c.
type pair struct {
	t            *testing.T
	ours, theirs string
	dirs         [2]string
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{t: t, dirs: [2]string{t.TempDir(), t.TempDir()}}
	p.theirs = aria2test.Start(t, p.dirs[1])
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := begin(t, p.dirs[0], "--rpc-secret-file", secret)
	p.ours = strings.TrimSuffix(c.url, "/jsonrpc")
	return p
}

// call asks both, and gives both answers, in which the directories have the same name.
func (p *pair) call(method string, params ...any) (answers [2]any) {
	p.t.Helper()
	for i, server := range []string{p.ours, p.theirs} {
		_, body := aria2test.Ask(p.t, server, request(p.t, method, params...))
		body = strings.ReplaceAll(strings.ReplaceAll(body, `\/`, "/"), p.dirs[i], "DIR")
		if err := json.Unmarshal([]byte(body), &answers[i]); err != nil {
			p.t.Fatal(err)
		}
		answers[i] = distinct(answers[i])
	}
	return answers
}

// distinct is an answer in which URIs are there once: aria2 lists one for each time that it was
// used, and once more for the next time.
func distinct(answer any) any {
	switch a := answer.(type) {
	case map[string]any:
		for name, value := range a {
			a[name] = distinct(value)
		}
	case []any:
		var all []any
		seen := map[any]bool{}
		for _, value := range a {
			if o, ok := value.(map[string]any); ok && o["uri"] != nil && o["status"] != nil {
				if seen[o["uri"]] {
					continue
				}
				seen[o["uri"]] = true
			}
			all = append(all, distinct(value))
		}
		return all
	}
	return answer
}

func request(t *testing.T, method string, params ...any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": "q", "method": method, "params": append([]any{"token:x"}, params...)})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// same asks both, and lets the test fail where the answers differ in more than the members that
// are named.
func (p *pair) same(but []string, method string, params ...any) {
	p.t.Helper()
	answers := p.call(method, params...)
	for _, difference := range aria2test.Differ("", answers[0], answers[1]) {
		member, _, _ := strings.Cut(difference, ": ")
		if !slices.Contains(but, member[strings.LastIndexByte(member, '.')+1:]) {
			p.t.Errorf("%s %v\n\t%s", method, params, difference)
		}
	}
}

// until waits until a job has a state on both sides, and some bytes if it is to be active.
func (p *pair) until(gid, state string) {
	p.t.Helper()
	var answers [2]any
	for end := time.Now().Add(hang); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		answers = p.call("aria2.tellStatus", gid, []string{"status", "completedLength"})
		if !slices.ContainsFunc(answers[:], func(a any) bool {
			job, ok := a.(map[string]any)["result"].(map[string]any)
			return !ok || job["status"] != state || state == "active" && job["completedLength"] == "0"
		}) {
			return
		}
	}
	p.t.Fatalf("%s does not become %s: %v", gid, state, answers)
}

// held serves files of which the second half comes when the channel is closed.
func held(t *testing.T) (s *httptest.Server, release func()) {
	t.Helper()
	free := make(chan struct{})
	plain := files(t).Config.Handler
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/f") {
			plain.ServeHTTP(w, r)
			return
		}
		http.ServeContent(w, r, "", time.Unix(1e9, 0), &slow{bytes.NewReader(content(r.URL.Path)), free, r.Context().Done()})
	}))
	release = func() { close(free) }
	t.Cleanup(s.Close)
	return s, release
}

// slow is a file that holds its reader up in its second half, until it is free or gone ends.
type slow struct {
	*bytes.Reader
	free chan struct{}
	gone <-chan struct{}
}

func (s *slow) Read(p []byte) (int, error) {
	if s.Len() <= fileSize/2 {
		select {
		case <-s.free:
		case <-s.gone:
			return 0, http.ErrAbortHandler
		}
	}
	return s.Reader.Read(p)
}

// TestDownloadsLikeAria2: what is told of jobs that are active, complete, failed, paused while
// they were active or removed is what a real aria2c tells of the same files. How far and how fast
// they are when they are asked differs, and so does the wording of errors.
func TestDownloadsLikeAria2(t *testing.T) {
	p := newPair(t)
	s, release := held(t)
	const active, failed, complete, paused, wrong = "aaaaaaaaaaaaaaa1", "bbbbbbbbbbbbbbb2", "ccccccccccccccc3", "ddddddddddddddd4", "eeeeeeeeeeeeeee5"
	moving := []string{"completedLength", "downloadSpeed", "connections", "bitfield"}
	add := func(gid, path string, more map[string]any, others ...string) {
		o := map[string]any{"gid": gid, "split": "1"}
		for name, value := range more {
			o[name] = value
		}
		p.same(nil, "aria2.addUri", append([]string{s.URL + path}, others...), o)
	}
	methods := []string{"aria2.tellStatus", "aria2.getFiles", "aria2.getUris", "aria2.getOption", "aria2.getPeers"}
	ask := func(gid string, but ...string) {
		t.Helper()
		for _, method := range methods {
			p.same(append(but, "user-agent", "file-allocation"), method, gid)
		}
	}

	add(active, "/f1", nil)
	p.until(active, "active")
	ask(active, append(moving, theirOptions(p, active)...)...)
	methods = slices.DeleteFunc(methods, func(m string) bool { return m == "aria2.getOption" }) // the same in all states
	p.same(append(moving, "link"), "aria2.getServers", active)
	p.same(moving, "aria2.tellActive")
	p.same(moving, "aria2.getGlobalStat")
	p.same(nil, "aria2.unpause", active)

	add(paused, "/f2", map[string]any{"out": "sub/two.bin"})
	p.until(paused, "active")
	p.same(nil, "aria2.pause", paused)
	p.until(paused, "paused")
	ask(paused, moving...)
	p.same(moving, "aria2.tellWaiting", 0, 10)
	p.same(nil, "aria2.getServers", paused)
	p.same(nil, "aria2.unpause", paused)
	p.until(paused, "active")
	p.same(nil, "aria2.forcePause", paused)
	p.until(paused, "paused")
	p.same(nil, "aria2.unpauseAll")
	p.until(paused, "active")
	p.same(nil, "aria2.remove", paused)
	p.until(paused, "removed")
	ask(paused, append(moving, "errorMessage")...)

	add(failed, "/none", nil)
	p.until(failed, "error")
	ask(failed, "errorMessage", "path") // aria2 has given it no name yet
	p.same(nil, "aria2.unpause", failed)
	p.same(nil, "aria2.remove", failed)

	release()
	p.until(active, "complete")
	ask(active)
	add(complete, "/f3", map[string]any{"checksum": fmt.Sprintf("sha-256=%x", sha256.Sum256(content("/f3")))})
	p.until(complete, "complete")
	ask(complete)
	add(wrong, "/f4", map[string]any{"checksum": "sha-1=0123456789012345678901234567890123456789"})
	p.until(wrong, "error")
	ask(wrong, append(moving, "errorMessage")...)
	p.same(append(moving, "errorMessage", "path"), "aria2.tellStopped", 0, 10)
	p.same(append(moving, "errorMessage"), "aria2.tellStopped", -1, 10, []string{"gid", "status", "errorCode"})
	p.same(moving, "aria2.getGlobalStat")
	p.same(nil, "aria2.removeDownloadResult", complete)
	p.same(nil, "aria2.getUris", complete)
	p.same(nil, "aria2.purgeDownloadResult")
	p.same(nil, "aria2.tellStopped", 0, 10)
	p.same(nil, "aria2.shutdown")
}

// theirOptions are the options of a job that only aria2 has: those of other protocols.
func theirOptions(p *pair, gid string) (names []string) {
	p.t.Helper()
	answers := p.call("aria2.getOption", gid)
	ours, theirs := answers[0].(map[string]any)["result"].(map[string]any), answers[1].(map[string]any)["result"].(map[string]any)
	for name := range theirs {
		_, known := ours[name]
		for _, other := range []string{"bt-", "ftp-", "metalink-", "follow-", "seed-ratio", "max-upload-limit", "enable-peer-exchange", "pause-metadata", "rpc-save-upload-metadata"} {
			if !known && strings.HasPrefix(name, other) {
				names = append(names, name)
			}
		}
	}
	return names
}
