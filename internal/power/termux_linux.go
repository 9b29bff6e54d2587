package power

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// errBuild: Go starts processes with system calls for which Android's filter
// kills an app, unless it was built to know that it is on Android.
var errBuild = errors.New("this build cannot start programs on Android; the one for android can")

// termuxProgram finds termux-battery-status. The path is absolute, so that
// os/exec does not look for it, which Android's filter does not allow either.
func termuxProgram(prefix string) (string, error) {
	if !filepath.IsAbs(prefix) {
		return "", errNotTermux
	}
	program := filepath.Join(prefix, "bin", "termux-battery-status")
	info, err := os.Stat(program)
	switch {
	case err != nil:
		return "", because("termux-battery-status", err)
	case !info.Mode().IsRegular():
		return "", because("termux-battery-status", errNotFile)
	}
	if _, err := os.Stat("/dev/__properties__"); err == nil && runtime.GOOS != "android" {
		return "", errBuild
	}
	return program, nil
}

// runBounded gives what a program prints, at most maxFile bytes of it, and ends
// it, with all that it has started, when ctx does.
func runBounded(ctx context.Context, command []string) ([]byte, error) {
	var out bounded
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout = &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 100 * time.Millisecond
	err := cmd.Run()
	if cause := ctx.Err(); cause != nil {
		return nil, cause
	}
	if out.over {
		return nil, errTooLong
	}
	return out.text, err
}

// bounded keeps what is written to it, up to maxFile bytes. It has no other
// methods of a buffer, or those would be used past the bound.
type bounded struct {
	text []byte
	over bool // there was more
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(b.text)+len(p) > maxFile {
		b.over = true
		return 0, errTooLong // which closes the pipe, and so ends the program
	}
	b.text = append(b.text, p...)
	return len(p), nil
}
