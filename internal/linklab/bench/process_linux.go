package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mlget/mlget/internal/linklab"
)

// errNoEnd is why a process was stopped that took too long.
var errNoEnd = errors.New("took too long")

// process is a tool that runs in a lab.
type process struct {
	lab   *linklab.Lab
	cmd   *linklab.Cmd
	dir   string // what the tool writes
	links int    // of the lab, that it may use; 0 = it runs beside the server, over loopback
}

// measured is what was seen of a process.
type measured struct {
	seconds  float64
	cpu      float64 // seconds
	switches int64   // voluntary context switches
	peakRSS  int64   // bytes
	activity activity
	ended    time.Duration // of the lab's clock
	energy   *linklab.EnergyMeter
	err      error // of the process: errNoEnd, or what Wait says
}

// start starts it in the namespace in which it belongs.
func (p process) start() error {
	if p.links > 0 {
		return p.cmd.Start()
	}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return p.lab.InServer(p.cmd.Cmd.Start)
}

func (p process) wait() error {
	if p.links > 0 {
		return p.cmd.Wait()
	}
	return p.cmd.Cmd.Wait()
}

// measure runs it. ctx, which must be the command's too, ends it.
func (p process) measure(ctx context.Context) (measured, error) {
	log, err := os.OpenFile(filepath.Join(p.dir, logName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return measured{}, err
	}
	defer log.Close() //nolint:errcheck // it is the tool that writes
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = p.dir, log, log
	m := measured{activity: newActivity(p.links)}
	if p.links > 0 {
		m.energy = p.lab.StartEnergy()
	}
	begin := time.Now()
	if err := p.start(); err != nil {
		return m, fmt.Errorf("start: %w", err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		p.watch(&m, stop)
	}()
	m.err = p.wait()
	m.seconds, m.ended = time.Since(begin).Seconds(), p.lab.Elapsed()
	m.energy.End()
	close(stop)
	<-stopped
	if errors.Is(context.Cause(ctx), errNoEnd) {
		m.err = errNoEnd
	}
	if u, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		m.cpu = time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
		m.switches = int64(u.Nvcsw) //nolint:unconvert // 32 bits on some machines
	}
	return m, nil
}

// watch samples the links' counters and the process's peak resident set.
//
// The peak is not the resource usage's: exec counts into that what the memory
// of the process was before, which is this program's.
func (p process) watch(m *measured, stop <-chan struct{}) {
	const memoryEvery = 4 // samples
	status := fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	sums := make([]int64, p.links)
	for n := 0; ; n++ {
		over := false
		select {
		case <-stop:
			over = true
		case <-tick.C:
		}
		if p.links > 0 {
			m.activity.observe(p.lab.Elapsed(), delivered(p.lab, sums))
		}
		if over {
			return
		}
		if n%memoryEvery == 0 {
			m.peakRSS = max(m.peakRSS, peakOf(status))
		}
	}
}

// delivered is what each link has carried to the client so far, in sums.
func delivered(l *linklab.Lab, sums []int64) []int64 {
	for i, s := range l.Stats() {
		sums[i] = s.Down.Bytes
	}
	return sums
}

// peakOf reads the peak resident set in bytes; 0 once the process has ended.
func peakOf(status string) int64 {
	kb, _, _ := strings.Cut(field(status, "VmHWM"), " ")
	n, err := strconv.ParseInt(kb, 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// logName is what the tool says, in its directory.
const logName = "log"

// failure is what a report calls a tool's error, and what the tool said.
func (p process) failure(err error, limit time.Duration) (what, detail string) {
	if err == nil {
		return "", ""
	}
	text, err2 := os.ReadFile(filepath.Join(p.dir, logName))
	if err2 == nil {
		detail = lastLine(text)
	}
	var exit *exec.ExitError
	switch {
	case errors.Is(err, errNoEnd):
		return fmt.Sprintf(noEnd+"%.0f s", limit.Seconds()), detail
	case errors.As(err, &exit):
		return exit.Error(), detail
	}
	return "failed", err.Error()
}

// lastLine is the last line that is not empty, cut to a bearable length.
func lastLine(text []byte) string {
	const bearable = 200
	text = bytes.TrimSpace(text)
	text = text[bytes.LastIndexByte(text, '\n')+1:]
	return strings.ToValidUTF8(string(text[:min(len(text), bearable)]), "?")
}
