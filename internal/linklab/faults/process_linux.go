package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// run runs the program. When the download is over, its process stays for its
// metrics: then it shows what it still has open, and perhaps its goroutines.
func (t *trial) run(ctx context.Context, maxTime time.Duration, dump bool) (ran, error) {
	var r ran
	_ = os.Remove(filepath.Join(t.dir, reportName)) // of the run before
	args, err := t.args(maxTime)
	if err != nil {
		return r, err
	}
	p := &program{cmd: t.lab.Command(ctx, t.cfg.Mlget, args...), dir: t.dir, exited: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stderr = t.dir, &p.out
	p.cmd.Env = append(p.cmd.Env, "HOME="+t.dir, "GOTRACEBACK=all")
	if err := p.cmd.Start(); err != nil {
		return r, err
	}
	var waited error
	go func() {
		waited = p.cmd.Wait()
		close(p.exited)
	}()
	over, err := p.await(ctx, t.cell.hangLimit())
	switch {
	case err != nil:
	case !over:
		r.hung = !p.ended()
	default:
		r.leaks = p.leftOpen()
	}
	end := syscall.SIGINT // it ends the waiting only
	if dump || r.hung {
		end = syscall.SIGQUIT
	}
	_ = p.cmd.Signal(end) // it may have ended
	p.patience(5 * time.Second)
	<-p.exited
	if err != nil {
		return r, err
	}
	r.report, _ = readReport(t.dir)
	r.stderr = p.out.Bytes()
	if r.code, err = codeOf(waited); err != nil {
		return r, err
	}
	if end == syscall.SIGQUIT {
		r.stderr, r.dump = cutDump(r.stderr)
		r.code = r.report.ExitCode // the process's own is that of the signal
		if !r.hung {
			r.leaks = append(r.leaks, leakedGoroutines(r.dump)...)
		}
	}
	return r, nil
}

// await waits at most so long for the end of the download; over: the process is still there.
func (p *program) await(ctx context.Context, most time.Duration) (over bool, err error) {
	limit := time.NewTimer(most)
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if _, ok := readReport(p.dir); ok {
				return true, nil
			}
		case <-p.exited:
			return false, nil
		case <-limit.C:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

func (p *program) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// patience kills the process if it is not gone in time.
func (p *program) patience(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.exited:
	case <-t.C:
		_ = p.cmd.Signal(syscall.SIGKILL) // it may have ended
	}
}

// leftOpen lists descriptors that are open though the download is over. What is
// about to be closed has a second for it.
func (p *program) leftOpen() []string {
	var left []string
	for range 20 {
		if left = p.open(); len(left) == 0 || p.ended() {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return left
}

// open lists descriptors that are none of those that a process has in any case:
// its standard streams, what the runtime polls with, the socket of the metrics,
// the list that it was given, and what it has inherited by way of this one.
func (p *program) open() []string {
	dir := fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // it has ended
	}
	var left []string
	sockets, inherited := 0, ownFiles()
	for _, e := range entries {
		to, err := os.Readlink(filepath.Join(dir, e.Name()))
		switch {
		case err != nil, slices.Contains([]string{"0", "1", "2"}, e.Name()), strings.HasPrefix(to, "anon_inode:"), inherited[to], filepath.Base(to) == listName:
		case strings.HasPrefix(to, "socket:") && sockets == 0:
			sockets++
		default:
			left = append(left, "descriptor "+to)
		}
	}
	return left
}

// ownFiles is what this process has open and others inherit: devices, pipes, and what it
// has inherited itself, such as the lock file of a flock that runs it.
func ownFiles() map[string]bool {
	const dir = "/proc/self/fd"
	own := map[string]bool{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return own
	}
	for _, e := range entries {
		to, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err == nil && (strings.HasPrefix(to, "pipe:") || strings.HasPrefix(to, "/dev/") || inheritable(e.Name())) {
			own[to] = true
		}
	}
	return own
}

// inheritable says whether processes that this one starts get its descriptor too, which
// is so of none that Go opens (proc_pid_fdinfo(5)).
func inheritable(fd string) bool {
	text, err := os.ReadFile("/proc/self/fdinfo/" + fd)
	_, flags, found := strings.Cut(string(text), "flags:")
	if err != nil || !found {
		return false
	}
	line, _, _ := strings.Cut(strings.TrimSpace(flags), "\n")
	n, err := strconv.ParseUint(line, 8, 64)
	return err == nil && n&syscall.O_CLOEXEC == 0
}

// codeOf is the exit status of a process.
func codeOf(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit):
		return exit.ExitCode(), nil
	}
	return 0, err
}

// cutDump parts what a program said from the stacks that the runtime adds.
func cutDump(text []byte) (said, dump []byte) {
	at := strings.Index(string(text), "SIGQUIT: quit")
	if at < 0 {
		return text, nil
	}
	return text[:at], text[at:]
}
