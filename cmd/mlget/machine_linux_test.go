package main_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inShell runs a script that calls mlget, in a directory of its own, and returns what
// it printed. URL names the site, TLSURL the same over TLS with the CA file's bytes.
func inShell(t *testing.T, s *site, script string) (dir, said string) {
	t.Helper()
	dir = t.TempDir()
	ca, err := s.writeCA(dir)
	check(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", `fail() { echo "FAIL: $*"; ls -la; exit 1; }
# get CODE ARG...: mlget must end with that status.
get() {
	want=$1; shift
	code=0; mlget --links "$LOOPBACK" -q "$@" 2>stderr || code=$?
	cat stderr
	[ $code = "$want" ] || fail "exit $code, want $want: $*"
}
# few ARG...: with few descriptors mlget ends well, or says what it lacks.
few() {
	code=0; mlget --links "$LOOPBACK" -q "$@" 2>stderr || code=$?
	[ $code = 0 ] || { [ $code = 3 ] && grep -q "too many open files" stderr; } || fail "exit $code: $*"
}
`+script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "URL="+s.clear.URL, "TLSURL="+s.secure.URL, "CA="+ca, "LOOPBACK="+loopback())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGQUIT) } // mlget shows where it hangs
	out, err := cmd.CombinedOutput()
	if err != nil {
		text, _ := os.ReadFile(filepath.Join(dir, "stderr")) // there may be none
		t.Fatalf("%v\n%s\n%s", err, out, text)
	}
	if strings.Contains(string(out), "goroutine ") || strings.Contains(string(out), "panic") {
		t.Fatalf("%s", out)
	}
	return dir, string(out)
}

// TestOddMachine: what a process may be started with, or not have, that most have.
func TestOddMachine(t *testing.T) {
	const size = 6000000
	for _, c := range []struct {
		name, script string
	}{
		{name: "no standard streams", script: `code=0; mlget --links "$LOOPBACK" "$URL/ranges/6000000/f.bin" <&- >&- 2>&- || code=$?; [ $code = 0 ] || fail "exit $code"`},
		{name: "no standard input", script: `get 0 "$URL/ranges/6000000/f.bin" <&-`},
		{name: "standard error that takes nothing", script: `code=0; mlget --links "$LOOPBACK" --progress json "$URL/ranges/6000000/f.bin" 2>/dev/full || code=$?; [ $code = 0 ] || fail "exit $code"`},
		{name: "a report that cannot be written", script: `get 3 --json "$URL/ranges/6000000/f.bin" >/dev/full`},
		{name: "a list that is closed", script: `get 2 -i - <&-; get 0 "$URL/ranges/6000000/f.bin"`},
		{name: "20 files", script: `ulimit -n 20; get 0 "$URL/ranges/6000000/f.bin"`},
		// Whether the file is there before the descriptors are used up depends on the machine. What
		// fails behind its name may leave the journal (docs/reliability.md: nothing believes it).
		{name: "20 files, 40 connections", script: `(ulimit -n 20; few --parallelism 40 --cacert "$CA" --http1.1 "$TLSURL/ranges/6000000/f.bin") || exit 1; if [ -e f.bin ]; then rm -f f.bin.part.json; else get 0 --cacert "$CA" "$TLSURL/ranges/6000000/f.bin"; fi`},
		{name: "20 and 40 files, a list", script: `for i in $(seq 30); do echo "$URL/ranges/6000000/$i.bin"; done >list
			(ulimit -n 20; few -i list) || exit 1
			rm -f *.bin *.bin.part*
			(ulimit -n 40; get 0 -i list) || exit 1
			for i in $(seq 30); do cmp 1.bin $i.bin || fail "$i"; done; mv 1.bin f.bin`},
		{name: "a limit on the size of files", script: `(ulimit -f 2000; get 3 "$URL/ranges/6000000/f.bin") || exit 1; [ ! -e f.bin ] || fail "f.bin"; get 0 "$URL/ranges/6000000/f.bin"`},
		{name: "a limit on the size of files, no length told", script: `(ulimit -f 2000; get 3 "$URL/chunked/6000000/f.bin") || exit 1; [ ! -e f.bin ] || fail "f.bin"; get 0 "$URL/chunked/6000000/f.bin"`},
		{name: "little memory", script: `GOMEMLIMIT=4MiB GOGC=10 get 0 --cacert "$CA" "$TLSURL/ranges/6000000/f.bin"`},
		{name: "little address space", script: `ulimit -v 1500000; get 0 "$URL/ranges/6000000/f.bin"`},
		{name: "one processor", script: `GOMAXPROCS=1 get 0 --cacert "$CA" "$TLSURL/ranges/6000000/f.bin"`},
		{name: "no temporary directory", script: `TMPDIR=/nowhere get 0 "$URL/ranges/6000000/f.bin"`},
		{name: "no home", script: `HOME=/nowhere get 0 "$URL/ranges/6000000/f.bin"; rm f.bin; HOME=/nowhere get 3 --netrc "$URL/ranges/6000000/f.bin"; unset HOME; get 0 "$URL/ranges/6000000/f.bin"`},
		{name: "nothing in the environment", script: `m=$(command -v mlget); env -i "$m" --links "$LOOPBACK" -q "$URL/ranges/6000000/f.bin" || fail "exit $?"`},
		{name: "a Turkish locale", script: `LANG=tr_TR.UTF-8 LC_ALL=tr_TR.UTF-8 get 0 --cacert "$CA" -H "IF-MATCH: *" "$TLSURL/ranges/6000000/f.bin"`},
		{name: "a mask that takes every right", script: `umask 0777; get 0 "$URL/ranges/6000000/f.bin"; chmod 600 f.bin stderr`},
		{name: "names with newlines", script: `get 0 -o 'a
b.bin' "$URL/ranges/6000000/f.bin"; [ "$(ls | wc -l)" -ge 2 ] || fail; mv 'a
b.bin' f.bin; get 0 "$URL/ranges/6000000/c%0Ad.bin"; ls -b | grep -q '^c.*d.bin$' || fail "the name"; ! ls -b | grep -q 'c\\n' || fail "a newline in a name that a URL chose"`},
		{name: "a directory that is gone", script: `mkdir d; cd d; rmdir ../d; code=0; mlget --links "$LOOPBACK" -q "$URL/ranges/6000000/f.bin" 2>../stderr || code=$?; cd ..; cat stderr; [ $code = 3 ] || fail "exit $code"; get 0 "$URL/ranges/6000000/f.bin"`},
		{name: "a directory that is gone, and a name elsewhere", script: `top=$PWD; mkdir d; cd d; rmdir ../d; code=0; mlget --links "$LOOPBACK" -q -o "$top/f.bin" "$URL/ranges/6000000/x.bin" || code=$?; cd ..; [ $code = 0 ] || fail "exit $code"`},
		{name: "zones of time that there are not", script: `TZ=Nowhere/Atlantis get 0 --report r.json "$URL/ranges/6000000/f.bin"`},
		{name: "Go's own variables", script: `GODEBUG=netdns=cgo,http2client=0,nonsense=7 GOTRACEBACK=none GOGC=off get 0 --cacert "$CA" "$TLSURL/ranges/6000000/f.bin"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, _ := inShell(t, newSite(t), c.script)
			wantFile(t, filepath.Join(dir, "f.bin"), size, "")
			if left, err := filepath.Glob(filepath.Join(dir, "*.part*")); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// TestOddSignals: signals that say nothing to a download leave it alone, and one that
// ends it leaves it in a state from which the next run goes on.
func TestOddSignals(t *testing.T) {
	for _, c := range []struct {
		signal syscall.Signal
		ends   bool
	}{
		{syscall.SIGPIPE, false},
		{syscall.SIGWINCH, false},
		{syscall.SIGURG, false},
		{syscall.SIGCHLD, false},
		{syscall.SIGTSTP, false},
		{syscall.SIGTTOU, false},
		{syscall.SIGUSR1, false}, // Go takes no notice of it
		{syscall.SIGALRM, false},
		{syscall.SIGKILL, true},
		{syscall.SIGXCPU, false},
	} {
		t.Run(fmt.Sprint(c.signal), func(t *testing.T) {
			t.Parallel()
			s, dir := newSite(t), t.TempDir()
			s.set("hang", "1500000")
			url := s.clear.URL + "/hang/3000000/f.bin"
			p := startMlget(t, dir, url)
			waitForFile(t, filepath.Join(dir, "f.bin.part"))
			for range 3 {
				if err := p.Process.Signal(c.signal); err != nil && !c.ends {
					t.Fatal(err)
				}
			}
			if c.signal == syscall.SIGTSTP || c.signal == syscall.SIGTTOU {
				time.Sleep(300 * time.Millisecond)
				check(t, p.Process.Signal(syscall.SIGCONT))
			}
			if c.ends {
				if err := p.Wait(); err == nil {
					t.Fatal("it has ended well")
				}
				s.release()
				mlget(t, dir, url).want(t, 0)
			} else {
				s.release()
				p.end(t).want(t, 0)
			}
			wantFile(t, filepath.Join(dir, "f.bin"), 3e6, "")
			if left, err := filepath.Glob(filepath.Join(dir, "*.part*")); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
}

// removeBeneath removes a directory in which a download may write a file after its names
// have been read, so that it is not empty for once.
func removeBeneath(dir string) error {
	var err error
	for range 100 {
		if err = os.RemoveAll(dir); !errors.Is(err, syscall.ENOTEMPTY) {
			break
		}
	}
	return err
}

// TestOddDirectory: what happens to the directory in which a download writes.
func TestOddDirectory(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(dir string) error
		code int
		at   string // where the file has to be then, from the test's directory
	}{
		{"renamed", func(dir string) error { return os.Rename(dir, dir+".2") }, 0, "d.2/f.bin"},
		{"without the right to write", func(dir string) error { return os.Chmod(dir, 0o500) }, 0, "d/f.bin"}, // root may
		{"removed, with all that is in it", removeBeneath, 3, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, top := newSite(t), t.TempDir()
			s.set("hang", "1500000")
			dir := filepath.Join(top, "d")
			check(t, os.Mkdir(dir, 0o700))
			p := startMlget(t, dir, s.clear.URL+"/hang/3000000/f.bin")
			waitForFile(t, filepath.Join(dir, "f.bin.part"))
			check(t, c.do(dir))
			s.release()
			r := p.end(t)
			if os.Geteuid() != 0 && c.name == "without the right to write" {
				r.want(t, 3, "permission denied")
				return
			}
			r.want(t, c.code)
			if c.at != "" {
				wantFile(t, filepath.Join(top, c.at), 3e6, "")
			}
		})
	}
}
