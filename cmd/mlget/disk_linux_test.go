package main_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// inMounts runs a shell script in a process with mounts of its own, with a file
// system of that size (and options) as its directory. URL names the site.
func inMounts(t *testing.T, s *site, options, script string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	dir := t.TempDir()
	disk := filepath.Join(dir, "disk")
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	head := `set -eu
mount -t tmpfs -o "$OPTIONS" tmpfs "$DISK"
cd "$DISK"
fail() { echo "FAIL: $*"; ls -la; exit 1; }
# get CODE ARG...: mlget must end with that status.
get() {
	want=$1; shift
	code=0; mlget --links lo "$@" 2>"$OUT/stderr" || code=$?
	cat "$OUT/stderr"
	[ $code = $want ] || fail "exit $code, want $want: $*"
}
says() { grep -q "$1" "$OUT/stderr" || fail "not said: $1"; }
`
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", head+script)
	cmd.Env = append(os.Environ(), "URL="+s.clear.URL, "DISK="+disk, "OUT="+dir, "OPTIONS="+options)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || strings.Contains(string(out), "mount: permission denied") {
		t.Skip("no mount namespaces here")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// TestFullDisk: exit 3, with what was there kept, and the next run goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.set("hang", "3000000")
	dir := inMounts(t, s, "size=8m", `
# No room from the beginning: nothing is fetched that could not be kept.
get 3 "$URL/ranges/20000000/big.bin"
says '^mlget: .*big.bin.part: 11.* MiB more must be free: it takes 19.1 MiB, and there are [78].* MiB: no space left on device$'
says '^mlget: hint: free some space'
[ ! -e big.bin ] || fail "big.bin"

# A length that nobody tells: the disk fills up on the way.
get 3 "$URL/chunked/20000000/long.bin"
says '^mlget: .*long.bin.*no space left on device$'
[ ! -e long.bin ] || fail "long.bin"
ls -la; rm -f long.bin.part long.bin.part.json

# Of several files no error names another one's.
set --
for i in 1 2 3 4 5 6 7 8; do set -- "$@" "$URL/ranges/300000$i/f$i.bin"; done
get 3 -j 8 "$@"
says '^mlget: .*no space left on device$'
for i in 1 2 3 4 5 6 7 8; do
	if grep "/f$i.bin: " "$OUT/stderr" | grep "[^/]f[^$i].bin"; then fail "another one's error"; fi
done
rm -f f*.bin f*.part f*.json

# The room is gone when the second run comes.
get 4 --max-time 2s "$URL/hang/6000000/f.bin"
[ -e f.bin.part.json ] || fail "no state"
truncate -s 3000000 f.bin.part
cp f.bin.part.json "$OUT/before"
code=0; dd if=/dev/zero of=filler bs=64k 2>/dev/null || code=$?
[ $code != 0 ] || fail "the disk is not full"
get 8 -o /dev/null "$URL/release/1/x"
get 3 "$URL/hang/6000000/f.bin"
says '^mlget: .*no space left on device$'
[ -e f.bin.part ] || fail "the bytes are gone"
cmp f.bin.part.json "$OUT/before" || fail "the state is another one"
rm filler
get 0 --report "$OUT/report.json" "$URL/hang/6000000/f.bin"
cp f.bin "$OUT/f.bin"
`)
	r := readReport(t, filepath.Join(dir, "report.json"))
	if r.ResumedBytes == 0 {
		t.Error("the last run did not go on where the first had stopped")
	}
	wantFile(t, filepath.Join(dir, "f.bin"), 6e6, "")
}

// TestOneTooLarge: a file for which there is no room is no reason to leave out smaller
// ones, whether they were begun before or after it.
func TestOneTooLarge(t *testing.T) {
	s := newSite(t)
	inMounts(t, s, "size=3m", `
for i in 1 2 3; do echo "$URL/ranges/5000$i/s$i"; done >list
echo "$URL/ranges/50000000/big" >>list
for i in 4 5 6 7 8 9; do echo "$URL/ranges/5000$i/s$i"; done >>list
get 3 -j 1 -i list
says '^mlget: .*/big: .*no space left on device$'
[ ! -e big ] || fail "big"
for i in 1 2 3 4 5 6 7 8 9; do [ "$(wc -c <s$i)" -eq 5000$i ] || fail "s$i"; done
`)
}

// TestUnwritable: exit 3 before anything is asked of the network.
func TestUnwritable(t *testing.T) {
	s := newSite(t)
	inMounts(t, s, "size=1m", `
mkdir dir
echo theirs >dir/old.bin
mount -o remount,ro "$DISK"
get 3 "$URL/ranges/1000/x.bin"
says '^mlget: .*x.bin.*read-only file system$'
says '^mlget: hint: .*-P DIR'
get 3 -P dir/new "$URL/ranges/1000/x.bin"
says '^mlget: .*dir/new.*read-only'
get 3 -o dir/old.bin "$URL/ranges/1000/x.bin"
get 3 -c -o dir/old.bin "$URL/ranges/1000/x.bin"
[ "$(cat dir/old.bin)" = theirs ] || fail "old.bin was touched"
`)
	if seen := s.seen(); len(seen) > 0 {
		t.Errorf("the site saw %q", seen)
	}
}

// TestReportWhereNothingCanBeMade: a file that is there is written where no other can take its
// place: one that is mounted by itself, one in a directory that cannot be written.
func TestReportWhereNothingCanBeMade(t *testing.T) {
	inMounts(t, newSite(t), "size=8m", `
mkdir c; echo old > host.json; echo old > c/out.json
mount --bind host.json c/out.json
get 0 -q --report c/out.json "$URL/ranges/1000/a"
grep -q link_delta_seconds host.json || fail "host.json"
mount --bind c c
mount -o remount,ro,bind c
mount --bind host.json c/out.json
echo old > host.json
get 0 -q --report c/out.json "$URL/ranges/1000/b"
grep -q link_delta_seconds host.json || fail "host.json, read only"
`)
}

// TestStandardOutputByItsName: what the shell has opened is written to, and not replaced; were it,
// that would be another /dev than the system's.
func TestStandardOutputByItsName(t *testing.T) {
	inMounts(t, newSite(t), "size=8m", `
mkdir dev; mount --rbind /dev dev; mount -t tmpfs tmpfs /dev
for name in null zero urandom; do touch /dev/$name; mount --bind dev/$name /dev/$name; done
ln -s /proc/self/fd/1 /dev/stdout
echo before > f
get 0 -q -o /dev/stdout "$URL/ranges/1000/x" >> f
[ -L /dev/stdout ] || fail "/dev/stdout"
[ $(wc -c < f) = 1007 ] && head -n 1 f | grep -q before || fail "f"
`)
}
