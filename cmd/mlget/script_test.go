package main_test

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScript runs the scripts of testdata/script, each with a site and a
// directory of its own. See the commands below for what they can do besides
// testscript's own.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setupScript,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"get": scriptGet, "mlget": scriptMlget,
			"set": scriptSet, "release": scriptRelease, "requests": scriptRequests,
			"mknetrc": scriptNetrc,
			"write":   scriptWrite,
			"body":    scriptBody, "report": scriptReport, "nopassword": scriptNoPassword, "header": scriptHeader,
			"saw": scriptSaw, "outside": scriptOutside, "mode": scriptMode, "smallrss": scriptSmall, "socks": scriptSOCKS, "mkcert": scriptCert,
		},
	})
}

type siteKey struct{}

func setupScript(env *testscript.Env) error {
	t, ok := env.T().(testing.TB)
	if !ok {
		return errors.New("not a test")
	}
	s := newSite(t)
	env.Values[siteKey{}] = s
	ca, err := s.writeCA(env.WorkDir)
	if err != nil {
		return err
	}
	env.Setenv("PATH", os.Getenv("PATH"))
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("USERPROFILE", env.WorkDir) // Windows' name of it
	env.Setenv("URL", s.clear.URL)
	env.Setenv("TLSURL", s.secure.URL)
	env.Setenv("HOST", strings.TrimPrefix(s.clear.URL, "http://"))
	env.Setenv("PORT", s.clear.URL[strings.LastIndexByte(s.clear.URL, ':')+1:])
	env.Setenv("TLSPORT", s.secure.URL[strings.LastIndexByte(s.secure.URL, ':')+1:])
	env.Setenv("CA", ca)
	pin := sha256.Sum256(s.secure.Certificate().RawSubjectPublicKeyInfo)
	env.Setenv("PIN", "sha256//"+base64.StdEncoding.EncodeToString(pin[:]))
	content := make([]byte, 5000)
	if _, err := body(5000, "").ReadAt(content, 0); err != nil {
		return err
	}
	env.Setenv("MD5", fmt.Sprintf("%x", md5.Sum(content)))
	env.Setenv("SHA1", fmt.Sprintf("%x", sha1.Sum(content)))
	env.Setenv("SHA256", fmt.Sprintf("%x", sha256.Sum256(content)))
	env.Setenv("SHA512", fmt.Sprintf("%x", sha512.Sum512(content)))
	env.Setenv("PASSWORD", password)
	env.Setenv("lo", loopback())
	return nil
}

func siteOf(ts *testscript.TestScript) *site { return ts.Value(siteKey{}).(*site) }

// scriptMlget is "mlget CODE ARG...": run it and demand that exit status.
func scriptMlget(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: mlget CODE [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if err := ts.Exec("mlget", args[1:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit %d, want %d", code, want)
	}
	if err := checkOutput(code, ts.ReadFile("stdout"), ts.ReadFile("stderr")); err != nil {
		ts.Fatalf("%v", err)
	}
}

// scriptGet is the same with --links lo.
func scriptGet(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: get CODE ARG...")
	}
	scriptMlget(ts, neg, append([]string{args[0], "--links", loopback()}, args[1:]...))
}

// scriptSet is "set NAME VALUE": change the site's behaviour.
func scriptSet(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: set NAME VALUE")
	}
	siteOf(ts).set(args[0], args[1])
}

// scriptRelease lets the answers go on that hang.
func scriptRelease(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: release")
	}
	siteOf(ts).release()
}

// scriptRequests is "requests N": so many came since the last time; "some" is
// any but none.
func scriptRequests(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: requests N|some")
	}
	seen := siteOf(ts).seen()
	if args[0] == "some" && len(seen) > 0 || args[0] == strconv.Itoa(len(seen)) {
		return
	}
	ts.Fatalf("the site saw %d requests: %q", len(seen), seen)
}

// scriptBody is "body FILE SIZE [CONTENT]": the file is what the site has of
// that size; with ! it is not.
func scriptBody(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: body FILE SIZE [CONTENT]")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	have := fmt.Sprintf("%x", sha256.Sum256([]byte(ts.ReadFile(args[0]))))
	if same := have == body(size, strings.Join(args[2:], " ")).SHA256(); same == neg {
		ts.Fatalf("%s: same as the site's: %v", args[0], same)
	}
}

// scriptReport is "report FILE KEY=VALUE...": check a report's values, written
// as in JSON, and that the report is a sound one. KEY may be a path, links.0.name.
func scriptReport(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: report FILE [KEY=VALUE...]")
	}
	text := ts.ReadFile(args[0])
	if err := checkReport([]byte(text)); err != nil {
		ts.Fatalf("%v\n%s", err, text)
	}
	var r any
	ts.Check(json.Unmarshal([]byte(text), &r))
	for _, arg := range args[1:] {
		key, want, _ := strings.Cut(arg, "=")
		if have := valueAt(r, key); (have == want) == neg {
			ts.Fatalf("%s is %s, not as wanted: %s", key, have, want)
		}
	}
}

func valueAt(v any, path string) string {
	for key := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(in) {
				return "missing"
			}
			v = in[i]
		default:
			return "missing"
		}
	}
	if text, ok := v.(string); ok {
		return text
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// scriptNetrc is "mknetrc FILE": alice's password for the site, in a file that
// "nopassword" does not look at any more.
func scriptNetrc(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mknetrc FILE")
	}
	text := "machine example.org login bob password other\nmachine 127.0.0.1 login alice password " + password + "\n"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// scriptWrite is "write FILE LINE...".
func scriptWrite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: write FILE LINE...")
	}
	text := strings.Join(args[1:], "\n") + "\n"
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// scriptNoPassword finds the password in any file.
func scriptNoPassword(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: nopassword")
	}
	ts.Check(noPassword(ts.Getenv("WORK")))
}

// scriptHeader is "header NAME VALUE": the last request bore that header.
func scriptHeader(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: header NAME VALUE")
	}
	s := siteOf(ts)
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.last.Get(args[0]); (have == args[1]) == neg {
		ts.Fatalf("%s: %q", args[0], have)
	}
}

// scriptSaw is "saw PATH NAME": a request for that path came, and one bore that
// header; with !, requests came, and none bore it.
func scriptSaw(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: saw PATH NAME")
	}
	s := siteOf(ts)
	s.mu.Lock()
	defer s.mu.Unlock()
	heads := s.heads[args[0]]
	if len(heads) == 0 {
		ts.Fatalf("nobody asked for %s", args[0])
	}
	bore := slices.ContainsFunc(heads, func(h http.Header) bool { return h.Get(args[1]) != "" })
	if bore == neg {
		ts.Fatalf("a request for %s bore %s: %v", args[0], args[1], bore)
	}
}

// scriptOutside is "outside FILE...": what names of servers might lead to is not
// there, neither here nor two directories up.
func scriptOutside(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: outside FILE...")
	}
	for _, name := range args {
		for _, dir := range []string{".", "..", "../.."} {
			path := filepath.Join(ts.MkAbs(dir), name)
			if _, err := os.Lstat(path); err == nil {
				ts.Fatalf("%s is there", path)
			}
		}
	}
}

// scriptMode is "mode FILE OCTAL": the file's permissions.
func scriptMode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode FILE OCTAL")
	}
	fi, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if have := strconv.FormatInt(int64(fi.Mode().Perm()), 8); have != args[1] {
		ts.Fatalf("%s has mode %s, want %s", args[0], have, args[1])
	}
}

// scriptSmall is "smallrss REPORT...": these runs took little memory.
func scriptSmall(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: smallrss REPORT...")
	}
	for _, name := range args {
		var r struct {
			Bytes int64 `json:"max_rss_bytes"`
		}
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(name)), &r))
		if r.Bytes > 60e6 {
			ts.Fatalf("%s: %d bytes of memory", name, r.Bytes)
		}
	}
}
