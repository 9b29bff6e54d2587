package linklab

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// Cmd is an exec.Cmd whose process starts in the client's namespace, in a
// process group of its own, of which nothing is left after Wait or Close. Of
// exec.Cmd's methods, use only those that are defined here, and the pipes.
type Cmd struct {
	*exec.Cmd
	lab *Lab
}

// Command is like exec.CommandContext, with the lab's environment.
func (l *Lab) Command(ctx context.Context, name string, args ...string) *Cmd {
	c := &Cmd{Cmd: exec.CommandContext(ctx, name, args...), lab: l}
	c.Env = l.environment()
	// The thread that starts it may have another directory than this process.
	if dir, err := os.Getwd(); err == nil {
		c.Dir = dir
	}
	c.Cancel = func() error { return c.Signal(syscall.SIGKILL) }
	return c
}

// Start starts the command.
func (c *Cmd) Start() error {
	l := c.lab
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	if err := (inNamespace{l.client}).StartProcess(c.Cmd); err != nil {
		return err
	}
	l.groups[c.Process.Pid] = struct{}{}
	if err := l.guard.watch(l.groups); err != nil {
		delete(l.groups, c.Process.Pid)
		return errors.Join(err, c.Signal(syscall.SIGKILL), c.Cmd.Wait())
	}
	return nil
}

// Wait waits for the command, and ends what it has left running.
func (c *Cmd) Wait() error {
	err := c.Cmd.Wait()
	if c.Process == nil {
		return err
	}
	_ = c.Signal(syscall.SIGKILL) // mostly no process is left
	l := c.lab
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.groups, c.Process.Pid)
	if !l.closed {
		if err2 := l.guard.watch(l.groups); err == nil {
			err = err2
		}
	}
	return err
}

// Run starts the command and waits for it.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output runs the command and returns its standard output.
func (c *Cmd) Output() ([]byte, error) {
	var out bytes.Buffer
	c.Stdout = &out
	err := c.Run()
	return out.Bytes(), err
}

// CombinedOutput runs the command and returns all that it writes.
func (c *Cmd) CombinedOutput() ([]byte, error) {
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.Bytes(), err
}

// Signal sends a signal to the command and its children.
func (c *Cmd) Signal(s syscall.Signal) error {
	err := syscall.Kill(-c.Process.Pid, s)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
