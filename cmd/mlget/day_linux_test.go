package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/soaktest"
	"github.com/mlget/mlget/internal/testbody"
)

// day is what comes in 24 hours over links of 50 Mbit/s together.
const day = 24 * 3600 * 50e6 / 8 // bytes

// period is that of an endless object's bytes.
const period = 1 << 20

// endless serves an object of a day's size, which repeats itself.
type endless struct {
	block []byte
	sent  atomic.Int64
}

func newEndless(t *testing.T) *endless {
	t.Helper()
	e := &endless{block: make([]byte, period)}
	_, err := testbody.Body{Size: period, Seed: 24}.ReadAt(e.block, 0)
	check(t, err)
	return e
}

func (e *endless) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var off, last int64
	if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &off, &last); n != 2 || off > last || off >= day {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	end := min(last+1, int64(day))
	w.Header().Set("Etag", `"day"`)
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", off, end-1, int64(day)))
	w.Header().Set("Content-Length", strconv.FormatInt(end-off, 10))
	w.WriteHeader(http.StatusPartialContent)
	for off < end {
		at := off % period
		n, err := w.Write(e.block[at:min(period, at+end-off)])
		off += int64(n)
		e.sent.Add(int64(n))
		if err != nil {
			return
		}
	}
}

// TestSoakStream: 24 hours at 50 Mbit/s, as many of their 540 GB as the time allows,
// as one stream to somebody who looks at every byte and keeps none. What it holds
// does not grow. Over one connection: on a machine that is busy more are tried.
func TestSoakStream(t *testing.T) {
	limit := soaktest.Time(t)
	e := newEndless(t)
	server := httptest.NewServer(e)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), limit+hang)
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "mlget", "--links", loopback(), "-q", "--power", "none", "--parallelism", "1", "-o", "-", server.URL+"/day")
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	var got atomic.Int64
	ended := make(chan error, 1)
	go func() { ended <- compare(out, e.block, &got) }()
	var memory, descriptors series
	begun := time.Now()
	over := false
	for tick := time.NewTicker(time.Second); !over; {
		select {
		case err := <-ended: // all of it, or too soon
			t.Fatalf("it ended after %d bytes: %v: %s", got.Load(), err, stderr.String())
		case <-tick.C:
		}
		over = time.Since(begun) > limit || got.Load() > day*99/100
		memory.add(time.Since(begun), float64(residentOf(t, cmd.Process.Pid)))
		descriptors.add(time.Since(begun), float64(descriptorsOf(t, cmd.Process.Pid)))
	}
	seconds := time.Since(begun).Seconds()
	bytesMoved := got.Load()
	check(t, cmd.Process.Signal(syscall.SIGQUIT))
	<-ended        //nolint:errcheck // it was cut off
	_ = cmd.Wait() // it ends with all its stacks
	goroutines := strings.Count("\n"+stderr.String(), "\ngoroutine ")
	t.Logf("%.1f GB in %.0f s, %.1f h at 50 Mbit/s; memory %s; descriptors %s; %d goroutines at the end", float64(bytesMoved)/1e9, seconds,
		float64(bytesMoved)*8/50e6/3600, memory.text(1<<10, "KiB"), descriptors.text(1, ""), goroutines)
	if memory.growth() > 8<<20 || descriptors.growth() > 4 || goroutines > 60 || goroutines == 0 || bytesMoved < 1e9 {
		t.Error("it grows, or nothing has come")
	}
}

// compare reads what is block again and again.
func compare(from io.Reader, block []byte, got *atomic.Int64) error {
	buf := make([]byte, len(block))
	for {
		n, err := from.Read(buf)
		at := got.Load() % int64(len(block))
		first := min(int64(n), int64(len(block))-at)
		if !bytes.Equal(buf[:first], block[at:at+first]) || !bytes.Equal(buf[first:n], block[:int64(n)-first]) {
			return fmt.Errorf("wrong bytes behind %d", got.Load())
		}
		got.Add(int64(n))
		if err != nil {
			return err
		}
	}
}

// residentOf is the memory of a process, in bytes.
func residentOf(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	check(t, err)
	_, after, _ := strings.Cut(string(status), "VmRSS:")
	kilobytes, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	check(t, err)
	return kilobytes << 10
}

// series is something in the course of time.
type series struct{ at, v []float64 }

func (s *series) add(at time.Duration, v float64) {
	s.at, s.v = append(s.at, at.Seconds()), append(s.v, v)
}

// settled is what came after the first fifth, in which buffers grow to their size.
func (s *series) settled() (at, v []float64) { return s.at[len(s.at)/5:], s.v[len(s.v)/5:] }

// slope is that of the straight line with the least squares, per second.
func (s *series) slope() float64 {
	at, v := s.settled()
	n := float64(len(at))
	var x, y, xx, xy float64
	for i := range at {
		x, y, xx, xy = x+at[i], y+v[i], xx+at[i]*at[i], xy+at[i]*v[i]
	}
	if d := n*xx - x*x; d > 0 {
		return (n*xy - x*y) / d
	}
	return 0
}

// growth is by how much it rises along that line.
func (s *series) growth() float64 {
	at, _ := s.settled()
	return s.slope() * (at[len(at)-1] - at[0])
}

func (s *series) text(unit float64, name string) string {
	_, v := s.settled()
	least, most := v[0], v[0]
	for _, x := range v {
		least, most = min(least, x), max(most, x)
	}
	return fmt.Sprintf("%.0f to %.0f %s, slope %+.2f a minute", least/unit, most/unit, name, s.slope()*60/unit)
}
