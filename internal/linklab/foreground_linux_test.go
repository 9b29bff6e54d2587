package linklab

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal makes a terminal: what a person types, and reads, and what a program has.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminal: %v", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	c, err := person.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	err = c.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no terminal: %v", err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// TestStoppedFromTheTerminal types Ctrl-Z: the shell has to get its terminal back,
// and the command has to have it once more after a fg.
func TestStoppedFromTheTerminal(t *testing.T) {
	SkipIfUnsupported(t)
	person, program := terminal(t)
	lab, _, _ := mainCommand(t, "run", "--link", "wlan0,down=100", "--size", "1K", "--",
		"sh", "-c", "echo ready; read -r line; echo got $line; exit 5")
	shell := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"-mc", `"$@"; echo stopped; fg > /dev/null; echo status $?`, "sh"}, lab.Args...)...)
	shell.Env = lab.Env
	shell.Stdin, shell.Stdout, shell.Stderr = program, program, program
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = shell.Wait() }()
	defer func() { _ = shell.Process.Kill() }()
	if err := person.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(person)
	for _, step := range []struct{ typed, until string }{
		{"", "ready"}, {"\x1a", "stopped"}, {"hello\n", "got hello"}, {"", "status 5"},
	} {
		if _, err := person.WriteString(step.typed); err != nil {
			t.Fatal(err)
		}
		for found := false; !found; found = strings.Contains(in.Text(), step.until) {
			if !in.Scan() {
				t.Fatalf("after %q there is no %q: %v", step.typed, step.until, in.Err())
			}
		}
	}
}
