package linklab

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// guardScript waits for the end of its input, which comes with the end of this
// process, however it ends. It kills the process groups that the last line
// names, then it removes the directory.
const guardScript = `
groups=
while read -r line; do groups=$line; done
[ -z "$groups" ] || kill -s KILL -- $groups
rm -rf -- "$1"
`

// guard cleans up after a lab that was killed: a shell, since a process that
// is a copy of this one could not be had in a test.
type guard struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// startGuard makes a guard over the directory.
func startGuard(dir string) (*guard, error) {
	g := &guard{cmd: exec.Command("/bin/sh", "-c", guardScript, "linklab-guard", dir)}
	g.cmd.Dir = "/"
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C is not for it
	var err error
	if g.pipe, err = g.cmd.StdinPipe(); err == nil {
		err = g.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	return g, nil
}

// watch puts process groups under guard, in place of those before.
func (g *guard) watch(groups map[int]struct{}) error {
	var line strings.Builder
	for id := range groups {
		fmt.Fprintf(&line, " -%d", id)
	}
	_, err := io.WriteString(g.pipe, line.String()+"\n")
	return err
}

// close ends the guard, which removes the directory; the processes must have
// ended.
func (g *guard) close() error {
	err := g.watch(nil)
	if err2 := g.pipe.Close(); err == nil {
		err = err2
	}
	if err2 := g.cmd.Wait(); err == nil {
		err = err2
	}
	if err != nil {
		return fmt.Errorf("guard: %w", err)
	}
	return nil
}

// Scratch makes a directory for a lab, in memory where that has room for the
// bytes twice: then a disk cannot be what limits the server. It is the caller's
// to remove.
func Scratch(bytes int64) (string, error) {
	parent := os.TempDir()
	var s syscall.Statfs_t
	const memory = "/dev/shm"
	err := syscall.Statfs(memory, &s)
	if err == nil && s.Bavail*uint64(s.Bsize)/2 > uint64(bytes) && unix.Access(memory, unix.W_OK) == nil {
		parent = memory
	}
	dir, err := os.MkdirTemp(parent, "linklab-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // COMMAND may run as somebody else and needs the CA
	}
	if err != nil {
		return "", fmt.Errorf("scratch directory: %w", err)
	}
	return dir, nil
}
