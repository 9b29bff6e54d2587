package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/android/androidtest"
	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/report"
)

// asAndroid tells the phone of TestPhoneProgram where Android's own build of mlget
// is, and what else it takes to run it; empty: this machine's build runs.
const asAndroid = "MLGET_TEST_PHONE_PROGRAM"

const (
	termuxBin  = "/data/data/com.termux/files/usr/bin/mlget"
	termuxHome = "/data/data/com.termux/files/home"
	shellBin   = phoneFiles + "/mlget"
	linker     = "/apex/com.android.runtime/bin/linker64"
	emulator   = "/qemu"
)

// TestPhoneProgram runs the program that is built for Android (GOOS=android,
// arm64) under qemu-user, as itself and as Google Play's Termux starts it, and this
// machine's, in the tree and the network of a phone, under the filter of system
// calls and what SELinux allows there. Whatever a caller may not do, and the program
// does not expect to fail, fails the test.
func TestPhoneProgram(t *testing.T) {
	t.Parallel()
	if !manyUsers(t) {
		t.Skip("it takes root, and the user ids of apps")
	}
	const loader = "/usr/aarch64-linux-gnu/lib/ld-linux-aarch64.so.1" // of Debian's libc6-arm64-cross
	qemu, err := exec.LookPath("qemu-aarch64-static")
	if _, err2 := os.Stat(loader); err != nil || err2 != nil {
		t.Skip("it takes the packages qemu-user-static and libc6-arm64-cross")
	}
	program := filepath.Join(t.TempDir(), "mlget-android")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=android", "GOARCH=arm64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	asked := buildAsked(t)
	for _, sdk := range []int{26, 33, 35} {
		for name, files := range map[string]string{"x86_64": "", "android-arm64": strings.Join([]string{program, qemu, loader, asked}, " ")} {
			t.Run(fmt.Sprintf("API %d, %s", sdk, name), func(t *testing.T) {
				t.Parallel()
				l := startLab(t, linklab.Config{Size: 20e6, TLS: true}, fastWiFi, fastLTE)
				ctx, cancel := context.WithTimeout(t.Context(), 6*hang)
				defer cancel()
				c := l.Command(ctx, "/proc/self/exe", "-test.run=^TestInsidePhoneProgram$", "-test.v")
				c.Env = append(c.Env, fmt.Sprint(asPhone, "=", sdk), asAndroid+"="+files)
				out, err := c.CombinedOutput()
				if err != nil || !bytes.Contains(out, []byte("--- PASS: TestInsidePhoneProgram")) {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// TestFilterBites: what is not on the list ends a process, so the silence of
// the others says something.
func TestFilterBites(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		call  uintptr
		since int // API level
	}{
		{"openat", unix.SYS_OPENAT, 26},
		{"splice", unix.SYS_SPLICE, 26},
		{"renameat2", unix.SYS_RENAMEAT2, 28},
		{"statx", unix.SYS_STATX, 30},
		{"pidfd_open", unix.SYS_PIDFD_OPEN, 30},
		{"pidfd_send_signal", unix.SYS_PIDFD_SEND_SIGNAL, 31},
		{"userfaultfd", unix.SYS_USERFAULTFD, 31},
		{"close_range", unix.SYS_CLOSE_RANGE, 33},
		{"clone3", unix.SYS_CLONE3, 34},
		{"epoll_pwait2", unix.SYS_EPOLL_PWAIT2, 34},
		{"mseal", unix.SYS_MSEAL, 99},
		{"faccessat2", unix.SYS_FACCESSAT2, 99},
		{"fchmodat2", unix.SYS_FCHMODAT2, 99},
		{"setuid", unix.SYS_SETUID, 99},
		{"access", 21, 99}, // no such call on arm64
	} {
		for _, sdk := range []int{26, 28, 29, 30, 31, 33, 34, 35} {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), fmt.Sprint(asFiltered, "=", sdk, " ", c.call))
			out, err := cmd.CombinedOutput()
			if may := sdk >= c.since; (err == nil) != may || !may && !bytes.Contains(out, []byte("SIGSYS")) {
				t.Errorf("%s on API level %d: %v\n%s", c.name, sdk, err, out)
			}
		}
	}
}

// androidOf is the release whose policy stands for an API level's.
func androidOf(sdk int) string {
	return map[int]string{26: "8.1", 27: "8.1", 28: "9", 30: "11", 33: "13", 34: "13", 35: "15"}[sdk]
}

// buildAsked builds what plays the programs of Android's that mlget asks: getprop, which
// says that it is in India, and date.
func buildAsked(t *testing.T) string {
	t.Helper()
	const source = `package main

import "os"

func main() {
	println := func(s string) { os.Stdout.WriteString(s + "\n") }
	switch os.Args[len(os.Args)-1] {
	case "persist.sys.timezone":
		println("Asia/Kolkata")
	case "+%z":
		println("+0530")
	case "ro.build.version.release":
		println("13")
	}
}
`
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o644))
	program := filepath.Join(dir, "asked")
	build := exec.Command("go", "build", "-o", program, filepath.Join(dir, "main.go"))
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// phoneCaller is somebody who runs mlget on a phone.
type phoneCaller struct {
	uid     int
	domain  string
	program string
	dir     string
	linker  bool // it is started by the system's loader
	both    bool // cellular is open to it beside Wi-Fi
}

// callersOf are those of an API level.
func callersOf(sdk int) map[string]phoneCaller {
	callers := map[string]phoneCaller{
		"adb shell":       {aShell, "shell", shellBin, phoneFiles, false, true},
		"Termux, F-Droid": {anApp, "untrusted_app_27", termuxBin, termuxHome, false, false},
	}
	switch {
	case sdk < 28:
		callers["Termux, F-Droid"] = phoneCaller{anApp, "untrusted_app", termuxBin, termuxHome, false, false}
	case sdk >= 31:
		callers["Termux, Google Play"] = phoneCaller{anApp, "untrusted_app", termuxBin, termuxHome, true, false}
		callers["Termux, Google Play, preferred"] = phoneCaller{aFriend, "untrusted_app", termuxBin, termuxHome, true, true}
	}
	return callers
}

// TestInsidePhoneProgram is the part of TestPhoneProgram that is in the phone's network.
func TestInsidePhoneProgram(t *testing.T) {
	files, inside := os.LookupEnv(asAndroid)
	if !inside {
		t.Skip("part of TestPhoneProgram")
	}
	var sdk int
	if _, err := fmt.Sscan(os.Getenv(asPhone), &sdk); err != nil {
		t.Fatal(err)
	}
	p := makePhone(t, sdk)
	mlget := filepath.Join(p.root, "system/bin/mlget") // this machine's
	emulated := files != ""
	must(t, os.MkdirAll(filepath.Join(p.root, filepath.Dir(linker)), 0o755))
	if emulated {
		f := strings.Fields(files)
		mlget = f[0]
		copyFile(t, f[1], filepath.Join(p.root, emulator), 0o755)
		copyFile(t, f[2], filepath.Join(p.root, linker), 0o755)
		must(t, os.Symlink(linker, filepath.Join(p.root, "system/bin/linker64")))
		copyFile(t, f[3], filepath.Join(p.root, "system/bin/getprop"), 0o755)
		copyFile(t, f[3], filepath.Join(p.root, "system/bin/date"), 0o755)
	}
	for _, file := range []string{termuxBin, shellBin} {
		must(t, os.MkdirAll(filepath.Join(p.root, filepath.Dir(file)), 0o755))
		copyFile(t, mlget, filepath.Join(p.root, file), 0o755)
	}
	for name, c := range callersOf(sdk) {
		if c.linker && !emulated {
			continue // this machine's is no program that a loader takes
		}
		t.Run(name, func(t *testing.T) {
			must(t, os.MkdirAll(filepath.Join(p.root, c.dir), 0o755))
			must(t, os.Chmod(filepath.Join(p.root, c.dir), 0o777))
			var policy androidtest.Policy
			run := func(args ...string) result {
				t.Helper()
				words := append([]string{c.program}, args...)
				switch {
				case c.linker: // twice, as glibc's loader hides itself
					words = append([]string{emulator, "/system/bin/linker64", c.program}, words...)
				case emulated:
					words = append([]string{emulator}, words...)
				}
				var ok bool
				policy, ok = androidtest.PolicyOf(androidtest.Domain{Android: androidOf(sdk), Name: c.domain})
				if !ok {
					t.Fatalf("the table does not know %s of %s", c.domain, androidOf(sdk))
				}
				filter := sdk
				if c.uid < 10000 || emulated { // the emulator has calls of its own
					filter = 0
				}
				return p.confined(t, policy, c, filter, words, emulated)
			}
			out, links, url := c.dir+"/out.bin", "wifi,cellular", namedURL(os.Getenv("LINKLAB_URL"))
			if emulated { // which has no routing rules, and so no network of Android's: root does by devices
				c.uid, c.both, links, url = 0, true, "wlan0,rmnet0", os.Getenv("LINKLAB_URL")
			}
			r := run("--links", links, "--json", "-o", out, "--checksum", "sha256="+os.Getenv("LINKLAB_SHA256"), url)
			r.want(t, 0)
			var rep report.Report
			must(t, json.Unmarshal([]byte(r.stdout), &rep))
			if want := map[bool]int{false: 1, true: 2}[c.both]; carriers(rep) != want {
				t.Errorf("%d links carried bytes, want %d: %+v", carriers(rep), want, rep.Links)
			}
			must(t, os.Remove(filepath.Join(p.root, out)))
			bound := map[bool]string{false: "android-network", true: "device"}[emulated]
			doctor := []string{"on Android:   true", "folder:       writable", bound}
			if emulated { // the other one starts no programs
				doctor = append(doctor, "Android:      13", "time zone:    330 minutes from UTC")
			}
			for args, want := range map[string][]string{
				"links":   {"wlan0", "rmnet0", bound},
				"doctor":  doctor,
				"version": {"mlget 0."},
			} {
				r := run(args)
				r.want(t, 0)
				for _, text := range want {
					if !strings.Contains(r.stdout, text) {
						t.Errorf("%s: %q is missing:\n%s", args, text, r.stdout)
					}
				}
			}
		})
	}
}

// namedURL is a URL with the name that has another address on each network.
func namedURL(url string) string {
	return strings.Replace(url, "192.0.2.1", strings.TrimSuffix(phoneName, "."), 1)
}

// expected is what the program tries although a phone may refuse it, and does
// without. Each has a reason.
func expected(a androidtest.Access) string {
	for _, e := range []struct{ what, permission, why string }{
		{"RTM_GETLINK", "nlmsg_readpriv", "interfaces are listed by ioctl then"},
		{"bind of a netlink socket", "bind", "links are looked at every two seconds then"},
		{"/proc/sys/net/ipv4/conf/", "open", "the reverse path filter is no matter on a phone"},
		{"/sys/class/net/", "", "kinds of links come from their names then"},
		{"/sys/fs/cgroup/", "open", "Go's runtime, which does without"},
		{"/sys/class/", "open", "mlget power says so"},
		{"/sys/bus/iio/devices", "open", "mlget power says so"},
		{"/sys", "open", "mlget power says so"},
		{"/proc/self/net/", "open", "Go's runtime"},
		{"/data/", "link", "a name is reserved by an empty file, which is replaced, then"},
		{"/proc/stat", "open", "metrics have no time of the process's start then"},
		{phoneFiles + "/queue.sock", "create", "the daemon says that its commands need --rpc"},
		{packagedBin, "open", "the program reads itself; the table has only who may execute it, and apps load their libraries from there"},
		{"/proc/sys/net/core/somaxconn", "open", "Go's net package"},
	} {
		if strings.HasPrefix(a.What, e.what) && (e.permission == "" || a.Permission == e.permission || a.Permission == "read") {
			return e.why
		}
	}
	return ""
}

// ofEmulator says whether an access is qemu's, not the program's.
func ofEmulator(a androidtest.Access) bool {
	return strings.HasPrefix(a.What, emulator) || strings.HasPrefix(a.What, "/proc/sys/vm/") || strings.HasPrefix(a.What, "/etc/qemu")
}

// confined runs words as a caller, under the eyes of a policy, and fails for what
// it does not allow and the program does not expect.
func (p *testPhone) confined(t *testing.T, policy androidtest.Policy, c phoneCaller, filter int, words []string, emulated bool) result {
	t.Helper()
	const tries = 3
	for n := 1; ; n++ {
		r, ended := p.confine(t, policy, c, filter, words, emulated)
		if ended || !emulated || n == tries {
			return r
		}
		t.Logf("%v: the emulator came to a halt, try %d of %d", words, n, tries)
	}
}

// confine is confined, once; ended is false if it had to be killed.
func (p *testPhone) confine(t *testing.T, policy androidtest.Policy, c phoneCaller, filter int, words []string, emulated bool) (r result, ended bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang/4)
	defer cancel()
	run := p.start(ctx, t, policy, c, filter, words)
	r = run.wait(t)
	if ctx.Err() != nil {
		return result{code: -1, stdout: r.stdout, stderr: r.stderr}, false
	}
	run.check(t, r, emulated)
	return r, true
}

// confinedRun is a program under way that a policy's eyes are on.
type confinedRun struct {
	cmd            *exec.Cmd
	words          []string
	selinux        *androidtest.SELinux
	watching       chan error
	theirs         *os.File
	stdout, stderr bytes.Buffer
}

// start begins a run of words as a caller, which ctx ends.
func (p *testPhone) start(ctx context.Context, t *testing.T, policy androidtest.Policy, c phoneCaller, filter int, words []string) *confinedRun {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	conn, err := net.FileConn(ours)
	must(t, err)
	must(t, ours.Close())
	run := &confinedRun{
		cmd: exec.CommandContext(ctx, "/proc/self/exe", words...), words: words,
		selinux: &androidtest.SELinux{Policy: policy}, watching: make(chan error, 1), theirs: theirs,
	}
	cmd := run.cmd
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d watched %s", asUser, p.root, c.uid, filter, c.dir))
	cmd.ExtraFiles = []*os.File{theirs}
	go func() { run.watching <- run.selinux.Watch(conn.(*net.UnixConn)) }()
	cmd.Stdout, cmd.Stderr = &run.stdout, &run.stderr
	must(t, cmd.Start())
	return run
}

// wait waits for the program's end.
func (run *confinedRun) wait(t *testing.T) result {
	t.Helper()
	err := run.cmd.Wait()
	must(t, run.theirs.Close())
	return result{code: exitCode(t, err), stdout: run.stdout.String(), stderr: run.stderr.String()}
}

// check holds what the program has asked for against the policy.
func (run *confinedRun) check(t *testing.T, r result, emulated bool) {
	t.Helper()
	must(t, checkOutput(r.code, r.stdout, r.stderr))
	must(t, <-run.watching)
	run.selinux.Wait()
	for _, a := range slices.Concat(run.selinux.Refused(), run.selinux.Unknown()) {
		if expected(a) == "" && (!emulated || !ofEmulator(a)) {
			t.Errorf("%v: %v", run.words, a)
		}
	}
	if run.selinux.Asked() < 5 {
		t.Errorf("%v: only %d accesses were seen", run.words, run.selinux.Asked())
	}
}
