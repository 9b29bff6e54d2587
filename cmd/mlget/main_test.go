package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mlget/mlget/internal/cli"
)

// hang is how long a command may take before the test gives it up: far beyond
// what any of them needs, also on a busy machine.
const hang = 2 * time.Minute

// waitUntil polls a condition.
func waitUntil(t testing.TB, what string, met func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hang); !met(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// password is the only one in these tests; no output and no file may hold it.
const password = "hunter2-never-shown"

func TestMain(m *testing.M) {
	standIn()
	os.Exit(withBinary(m))
}

// withBinary runs the tests with a freshly built mlget first in $PATH.
func withBinary(m *testing.M) int {
	// What the program is made of has to be in the test's own binary, whose content
	// go test goes by: else it would take an old result for a new program's. An
	// import alone does not do that, the linker leaves it out.
	if reflect.ValueOf(cli.Main).IsNil() {
		return 1
	}
	if insidePhone() { // which has one
		return m.Run()
	}
	dir := os.Getenv("MLGET_DIR") // where there is one already, and no Go: make test-windows
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "mlget-e2e-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir) //nolint:errcheck // it is below the temporary directory
		build := exec.Command("go", "build", "-o", filepath.Join(dir, binaryName()), ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
			return 1
		}
	}
	environment := map[string]string{
		"PATH": dir + string(filepath.ListSeparator) + os.Getenv("PATH"),
		// What the person who runs the tests has set is none of theirs.
		"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent", // whose NetworkManager knows other links of the same names
		"http_proxy":              "", "https_proxy": "", "HTTP_PROXY": "", "HTTPS_PROXY": "", "NETRC": "",
	}
	for name, value := range environment {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if code := m.Run(); code != 0 {
		return code
	}
	return leaked()
}

// leaked is the exit status that goroutines of tests are worth that do not end.
func leaked() int {
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func binaryName() string {
	if runtime.GOOS == "windows" {
		return "mlget.exe"
	}
	return "mlget"
}

// exitCode is a command's exit status; -1 where it was ended by a signal.
func exitCode(t testing.TB, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

// errorLine is how an error, a hint, a warning or a notice of mlget looks.
var errorLine = regexp.MustCompile(`(?m)^mlget: .*$`)

// checkOutput finds what no run of mlget may ever print.
func checkOutput(code int, stdout, stderr string) error {
	switch {
	case strings.Contains(stdout, password), strings.Contains(stderr, password):
		return errors.New("a password is shown")
	case strings.ContainsFunc(stderr, func(r rune) bool { return r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 }):
		return fmt.Errorf("stderr would drive a terminal: %q", stderr)
	case strings.Contains(stderr, "panic"), strings.Contains(stderr, "goroutine "):
		return errors.New("a panic")
	case code != 0 && !errorLine.MatchString(stderr):
		return fmt.Errorf("exit %d without a word of why", code)
	}
	for _, line := range errorLine.FindAllString(stderr, -1) {
		if len(line) > 500 {
			return fmt.Errorf("nobody reads a line of %d characters: %s", len(line), line)
		}
	}
	return nil
}

// result is what a run of mlget left.
type result struct {
	code           int
	stdout, stderr string
}

// command is what exec.Cmd and linklab's Cmd have in common.
type command interface{ Run() error }

// finish runs a prepared mlget and checks what it prints; a stdout that the
// caller has set stays.
func finish(t testing.TB, c command, cmd *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	cmd.Stderr = &stderr
	err := c.Run()
	r := result{code: exitCode(t, err), stdout: stdout.String(), stderr: stderr.String()}
	if err := checkOutput(r.code, r.stdout, r.stderr); err != nil {
		t.Errorf("%v: %v\n%s", cmd.Args, err, r.stderr)
	}
	return r
}

// mlget runs it on the loopback link in a directory.
func mlget(t testing.TB, dir string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, "mlget", append([]string{"--links", loopback()}, args...)...)
	cmd.Dir = dir
	return finish(t, cmd, cmd)
}

// want checks a run's exit status and what its errors say.
func (r result) want(t testing.TB, code int, patterns ...string) {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit %d, want %d\n%s", r.code, code, r.stderr)
	}
	for _, p := range patterns {
		if !regexp.MustCompile(`(?m)` + p).MatchString(r.stderr) {
			t.Errorf("stderr does not match %s:\n%s", p, r.stderr)
		}
	}
}

// loopback is the name of the interface through which this machine talks to itself.
func loopback() string {
	interfaces, err := net.Interfaces()
	if err == nil {
		for _, i := range interfaces {
			if i.Flags&net.FlagLoopback != 0 {
				return i.Name
			}
		}
	}
	return "lo"
}

// noPassword finds the password in any file below dir.
func noPassword(dir string) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // it is only read
		text, err := io.ReadAll(f)
		if err == nil && bytes.Contains(text, []byte(password)) {
			err = fmt.Errorf("%s holds the password", path)
		}
		return err
	})
}
