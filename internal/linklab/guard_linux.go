package linklab

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// guardName is how a guard is known among other processes.
const guardName = "linklab-guard"

// guardScript waits for the end of its input, which comes with the end of this
// process, however it ends. It kills the process groups that the last line names,
// and the other processes in the network namespaces that the line begins with; then it
// removes the directory. A process may start another one just before it is killed.
const guardScript = `
spaces=- groups=
while read -r s g; do spaces=$s groups=$g; done
[ -z "$groups" ] || kill -s KILL -- $groups
[ "$spaces" = - ] || for pass in 1 2 3; do
	for p in /proc/[0-9]*; do
		space=$(readlink "$p/ns/net") && [ -n "$space" ] || continue
		case ",$spaces," in *",$space,"*) ;; *) continue ;; esac
		case $(tr '\0' ' ' < "$p/cmdline") in *" ` + guardName + ` "*) continue ;; esac
		kill -s KILL "${p#/proc/}"
	done
done
rm -rf -- "$1"
`

// guard cleans up after a lab that was killed: a shell, since a process that
// is a copy of this one could not be had in a test.
type guard struct {
	cmd    *exec.Cmd
	pipe   io.WriteCloser
	spaces []string // the network namespaces in which no process may be left
}

// startGuard makes a guard over the directory.
func startGuard(dir string) (*guard, error) {
	g := &guard{cmd: exec.Command("/bin/sh", "-c", guardScript, guardName, dir)}
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
	line.WriteString(cmp.Or(strings.Join(g.spaces, ","), "-"))
	for id := range groups {
		fmt.Fprintf(&line, " -%d", id)
	}
	_, err := io.WriteString(g.pipe, line.String()+"\n")
	return err
}

// close ends the guard, which removes the directory; the processes must have
// ended.
func (g *guard) close() error {
	g.spaces = nil
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

// Scratch makes a directory for what several labs serve, where scratch would. It goes
// away with this process, however that ends, or before that by remove.
func Scratch(bytes int64) (dir string, remove func() error, err error) {
	if dir, err = scratch(bytes); err != nil {
		return "", nil, err
	}
	g, err := startGuard(dir)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, g.close, nil
}

// scratch makes a directory for a lab, in memory where that has room for the
// bytes twice: then a disk cannot be what limits the server. Where there is no room for
// them at all, it fails at once rather than fill the disk. The caller removes it.
func scratch(bytes int64) (string, error) {
	parent := os.TempDir()
	const memory = "/dev/shm"
	if room, err := roomIn(memory); err == nil && room/2 > uint64(bytes) && unix.Access(memory, unix.W_OK) == nil {
		parent = memory
	}
	if room, err := roomIn(parent); err == nil && room < uint64(bytes) {
		return "", &HintError{
			Err:  fmt.Errorf("no room for %d bytes in %s: %d are free", bytes, parent, room),
			Hint: "a smaller --size, or a TMPDIR with more room",
		}
	}
	dir, err := os.MkdirTemp(parent, "linklab-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // COMMAND may run as another user and needs the CA
	}
	if err != nil {
		return "", fmt.Errorf("scratch directory: %w", err)
	}
	return dir, nil
}

// roomIn is how many bytes a directory has room for.
func roomIn(dir string) (uint64, error) {
	var s syscall.Statfs_t
	err := syscall.Statfs(dir, &s)
	return s.Bavail * uint64(s.Bsize), err
}
