package main_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// call is a system call that has returned: what strace tells of it.
type call struct{ name, args string }

// traced runs mlget under strace and gives the calls that make files durable and
// that rename, in the order in which they returned.
func traced(t *testing.T, dir string, args ...string) []call {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace is not there: apt-get install strace")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*hang)
	defer cancel()
	log := filepath.Join(t.TempDir(), "trace")
	args = append([]string{"-f", "-y", "-qq", "-o", log, "-e", "trace=fsync,fdatasync,rename,renameat,renameat2", "mlget", "--links", loopback()}, args...)
	cmd := exec.CommandContext(ctx, "strace", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		if strings.Contains(string(out), "ptrace") {
			t.Skipf("nothing may be traced here: %s", out)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := os.Open(log)
	check(t, err)
	defer f.Close() //nolint:errcheck // it is only read
	var calls []call
	begun := map[string]string{} // by thread: arguments of a call that has not returned
	line := regexp.MustCompile(`^(\d+) +(?:<\.\.\. )?(\w+)(?: resumed>|\()(.*)$`)
	for in := bufio.NewScanner(f); in.Scan(); {
		m := line.FindStringSubmatch(in.Text())
		if m == nil {
			continue
		}
		if strings.HasSuffix(m[3], "<unfinished ...>") {
			begun[m[1]] = m[3]
			continue
		}
		if strings.HasSuffix(strings.TrimSpace(m[3]), "= 0") {
			calls = append(calls, call{m[2], begun[m[1]] + m[3]})
		}
		delete(begun, m[1])
	}
	return calls
}

// TestSyncOrder: no state claims bytes that a loss of power could take, and no file
// has its name before they are safe. Before a state is renamed to its name, the
// bytes and the state's own text have been synced, in this order; before the file
// is, its bytes; and the directory after either.
func TestSyncOrder(t *testing.T) {
	t.Parallel()
	s, dir := newSite(t), t.TempDir()
	calls := traced(t, dir, "-q", "--power", "none", "--limit-rate", "3M", "-o", "f.bin", s.clear.URL+"/ranges/12000000/f.bin")
	wantFile(t, filepath.Join(dir, "f.bin"), 12e6, "")
	var since []string // what was made durable since the last renaming
	states, names := 0, 0
	empty := 2 // so many states claim nothing: that of the opening, which is not synced, and the first one with the object's size
	for i, c := range calls {
		switch {
		case c.name == "fsync" || c.name == "fdatasync":
			_, path, _ := strings.Cut(c.args, "<")
			path, _, _ = strings.Cut(path, ">")
			since = append(since, strings.TrimPrefix(path, dir))
			continue
		case strings.Contains(c.args, "f.bin.part.json.new"):
			if empty > 0 {
				empty--
				break
			}
			states++
			at := strings.Join(since, " ")
			if data, state := strings.Index(at, "/f.bin.part "), strings.Index(at, "/f.bin.part.json.new"); data < 0 || state < data {
				t.Errorf("a state was renamed after syncs of %q", since)
			}
		case strings.Contains(c.args, "f.bin.part"):
			names++
			if at := strings.Join(since, " ") + " "; !strings.Contains(at, "/f.bin.part ") {
				t.Errorf("the file was renamed after syncs of %q", since)
			}
		default:
			continue
		}
		since = nil
		if i > 0 && (i+1 == len(calls) || calls[i+1].name != "fsync" || !strings.Contains(calls[i+1].args, dir+">")) && states+names > 0 {
			t.Errorf("the directory was not synced after %s(%s", c.name, c.args)
		}
	}
	if states < 2 || names != 1 {
		t.Errorf("%d states, %d files were renamed: %q", states, names, calls)
	}
}
