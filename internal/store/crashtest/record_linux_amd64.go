package crashtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrUnable says that nothing can be recorded here: tracing is forbidden, or this system is
// not Linux on amd64.
var ErrUnable = errors.New("system calls cannot be recorded here")

// Record runs a program and records what it asks of the directory p.Root. It returns
// what the program printed, and how it ended. The program may say something to the
// test by asking for a file called MarkPath followed by the words. When ctx ends it
// is killed, which is an error.
func Record(ctx context.Context, p Program) (*Log, *Ended, error) {
	l, err := newLog(p.Root)
	if err != nil {
		return nil, nil, err
	}
	out, err := os.CreateTemp("", "crashtest-*")
	if err != nil {
		return nil, nil, err
	}
	defer os.Remove(out.Name()) //nolint:errcheck // in the directory for temporary files
	defer out.Close()           //nolint:errcheck // it was read
	// The kernel knows the tracer by its thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	process, err := os.StartProcess(p.Path, p.Args, &os.ProcAttr{
		Env: p.Env, Files: []*os.File{nil, out, out}, Dir: p.Root,
		Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	if errors.Is(err, syscall.EPERM) {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnable, err)
	}
	if err != nil {
		return nil, nil, err
	}
	pid := process.Pid
	_ = process.Release() // it is waited for here
	stop := context.AfterFunc(ctx, func() { _ = unix.Kill(-pid, unix.SIGKILL) })
	defer stop()
	r := &recorder{
		log: l, root: p.Root, pid: pid, fault: p.Fault,
		names: map[string]Object{}, fds: map[int]Object{}, threads: map[int]*thread{},
	}
	for name, obj := range l.names {
		r.names[name] = obj
	}
	status, err := r.run()
	if err != nil {
		_ = unix.Kill(-pid, unix.SIGKILL)
		return nil, nil, err
	}
	printed, err := os.ReadFile(out.Name())
	if err != nil {
		return nil, nil, err
	}
	l.Ops = r.ops
	l.renumber()
	return l, &Ended{Output: string(printed), Code: status.ExitStatus(), Failed: r.failed}, context.Cause(ctx)
}

// recorder follows a program through its calls.
type recorder struct {
	log     *Log
	root    string
	pid     int
	names   map[string]Object // as they are now
	fds     map[int]Object    // the program's, of what is below root
	threads map[int]*thread
	ops     []Op
	moment  int
	fault   Fault
	failed  int // calls that were made to fail
}

// thread is one of the program's; of the call that it is in, if in one, what must
// be asked before it is made.
type thread struct {
	inCall bool
	call   *call
	errno  syscall.Errno // with which the call is to fail; 0: it is made
}

const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK |
	unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL

// run lets the program go from call to call until it ends.
func (r *recorder) run() (unix.WaitStatus, error) {
	var status unix.WaitStatus
	if _, err := wait(r.pid, &status); err != nil {
		return status, err
	}
	if err := unix.PtraceSetOptions(r.pid, options); err != nil {
		return status, fmt.Errorf("%w: %w", ErrUnable, err)
	}
	r.threads[r.pid] = &thread{}
	tid, signal := r.pid, 0
	for {
		// One that has been killed meanwhile is not there: it is waited for.
		if err := unix.PtraceSyscall(tid, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			return status, fmt.Errorf("go on with %d: %w", tid, err)
		}
		for {
			var err error
			if tid, err = wait(-r.pid, &status); err != nil {
				return status, err
			}
			if status.Stopped() {
				break
			}
			if tid == r.pid {
				return status, nil
			}
			delete(r.threads, tid)
		}
		signal = 0
		t, known := r.threads[tid]
		if !known {
			t = &thread{}
			r.threads[tid] = t
		}
		switch sig := status.StopSignal(); {
		case sig == unix.SIGTRAP|0x80:
			if err := r.step(tid, t); err != nil {
				return status, err
			}
		case status.TrapCause() > 0:
		case sig == unix.SIGSTOP && !known, sig == unix.SIGTRAP:
		default:
			signal = int(sig)
		}
	}
}

func wait(pid int, status *unix.WaitStatus) (int, error) {
	for {
		tid, err := unix.Wait4(pid, status, unix.WALL, nil)
		if !errors.Is(err, unix.EINTR) {
			return tid, os.NewSyscallError("wait4", err)
		}
	}
}

// step takes a thread's entering or leaving a call.
func (r *recorder) step(tid int, t *thread) error {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &regs); err != nil {
		if errors.Is(err, unix.ESRCH) { // killed
			return nil
		}
		return fmt.Errorf("registers of %d: %w", tid, err)
	}
	t.inCall = !t.inCall
	if t.inCall {
		t.call, t.errno = nil, 0
		c := call{
			nr:   regs.Orig_rax,
			args: [6]uint64{regs.Rdi, regs.Rsi, regs.Rdx, regs.R10, regs.R8, regs.R9},
		}
		wanted, err := c.enter(r, tid)
		if err != nil {
			return err
		}
		if wanted && r.fails(&c) {
			t.errno = r.fault.Errno
			regs.Orig_rax = ^uint64(0) // no call
			return os.NewSyscallError("ptrace", unix.PtraceSetRegs(tid, &regs))
		}
		if wanted {
			r.moment++
			c.begun = r.moment
			t.call = &c
		}
		return nil
	}
	if t.errno != 0 {
		regs.Rax = -uint64(t.errno)
		return os.NewSyscallError("ptrace", unix.PtraceSetRegs(tid, &regs))
	}
	c := t.call
	t.call = nil
	if c == nil || int64(regs.Rax) < 0 && c.mark == "" {
		return nil
	}
	r.moment++
	return c.leave(r, int64(regs.Rax))
}

// add puts an op into the log.
func (r *recorder) add(c *call, o Op) {
	o.Begun, o.Ended = c.begun, r.moment
	r.ops = append(r.ops, o)
}
