package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/linklab/scenario"
)

// buildMlget is the program as it stands.
func buildMlget(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mlget")
	text, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "github.com/mlget/mlget/cmd/mlget").CombinedOutput()
	if err != nil {
		t.Skipf("mlget cannot be built here: %v: %s", err, text)
	}
	return path
}

// The program itself is asked, so that a tool is not left out when its help is written anew.
func TestValuesOfMlgetsFlags(t *testing.T) {
	path := buildMlget(t)
	for _, tool := range mustParse(t, "mlget-naive,mlget-3,mlget-min-energy") {
		if got := valuesOf(t.Context(), path, tool.variantFlag()); !slices.Contains(got, tool.Variant) {
			t.Errorf("%s: %s has %q", tool.Name, tool.variantFlag(), got)
		}
	}
	if got := valuesOf(t.Context(), path, "--mode"); !slices.Equal(got, []string{"hat", "eht", "lowe", "manual"}) {
		t.Errorf("--mode has %q", got)
	}
	if got := valuesOf(t.Context(), path, "--no-such-flag"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// writeScenario makes a scenario of two links that need little time.
func writeScenario(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fast.txt")
	if err := os.WriteFile(path, []byte("link wlan0,down=80,rtt=4,power=wifi\nlink rmnet0,down=60,rtt=8,power=lte\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRealRuns(t *testing.T) {
	linklab.SkipIfUnsupported(t)
	name := writeScenario(t)
	c := Config{
		Options: Options{Scenarios: []string{loopback, name}, Rounds: 1, Size: 3e6, LoopbackSize: 3e6, TLS: true, Seed: 3},
		Tools:   mustParse(t, "mlget-3"),
	}
	r, err := newRunner(c, map[string]string{"mlget": buildMlget(t)}, linklab.ServerBuiltin)
	if err != nil {
		t.Fatal(err)
	}
	jobs := c.Plan()
	if len(jobs) != 5 {
		t.Fatalf("%v", jobs)
	}
	for _, j := range jobs {
		res, err := r.run(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		if !res.OK() || res.Seconds <= 0 || res.CPU <= 0 || res.OwnWaste == nil {
			t.Errorf("%v: %+v", j, res)
			continue
		}
		res.Job = j
		if err := res.Check(); err != nil {
			t.Error(err)
		}
		if j.Scenario == loopback {
			continue
		}
		sum := int64(0)
		for _, l := range res.Links {
			sum += l.Bytes
		}
		if sum < c.Size || res.Bound <= 0 || res.Seconds < res.Bound || res.Waste == nil || len(res.Links) != 2 {
			t.Errorf("%v: %+v", j, res)
		}
		if e := res.Energy; e == nil || len(e.Links) != 2 || e.Total.Dynamic <= 0 || e.Total.Tail <= 0 || e.Seconds > res.Seconds+1 {
			t.Errorf("%v: %+v", j, e)
		}
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

// TestToolsThatFail runs programs that do the wrong thing in mlget's place.
func TestToolsThatFail(t *testing.T) {
	linklab.SkipIfUnsupported(t)
	name := writeScenario(t)
	const fetches = "#!/bin/sh\ncp ../body.bin " + outName + "\n" // in a directory of the lab's own
	for _, tc := range []struct{ script, want string }{
		{"#!/bin/sh\necho trying; echo no luck >&2; exit 7", "exit status 7: no luck"},
		{"#!/bin/sh\nexit 0", "no file: "},
		{"#!/bin/sh\nmkdir " + outName, "no file: "},
		{"#!/bin/sh\necho nonsense > " + outName, "wrong hash: "},
		{fetches, "no report of its own: open "},
		{fetches + "echo nonsense > " + reportName, "no report of its own: mlget's report"},
		{"#!/nonexistent/interpreter\n", "cannot be started: start: fork/exec "},
		{"nonsense", "cannot be started: start: fork/exec "},
	} {
		program := filepath.Join(t.TempDir(), "mlget")
		if err := os.WriteFile(program, []byte(tc.script), 0o755); err != nil {
			t.Fatal(err)
		}
		c := Config{Options: Options{Quick: true, Scenarios: []string{name}, Rounds: 1, Size: 1e4, Seed: 3}, Tools: mustParse(t, "mlget")}
		r, err := newRunner(c, map[string]string{"mlget": program}, linklab.ServerBuiltin)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.run(t.Context(), c.Plan()[0])
		if got := res.Failure + ": " + res.Detail; err != nil || !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %v, %s", tc.want, err, got)
		}
	}
}

func TestProcessIsStoppedInTime(t *testing.T) {
	linklab.SkipIfUnsupported(t)
	lab, err := linklab.Start(linklab.Config{Scenario: scenario.Scenario{Links: []scenario.Link{{Name: "wlan0", DownMbps: 10}}}, Size: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lab.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, links := range []int{0, 1} { // beside the server, and over the link
		ctx, cancel := context.WithCancelCause(t.Context())
		p := process{lab: lab, dir: t.TempDir(), links: links}
		p.cmd = lab.Command(ctx, "sh", "-c", "sleep 100 & echo $! > child; wait")
		cancelled := make(chan struct{})
		go func() {
			defer close(cancelled)
			for ; ; time.Sleep(time.Millisecond) { // until the child's number is there
				if text, err := os.ReadFile(filepath.Join(p.dir, "child")); err == nil && strings.HasSuffix(string(text), "\n") {
					cancel(errNoEnd)
					return
				}
			}
		}()
		m, err := p.measure(ctx)
		<-cancelled
		if err != nil {
			t.Fatal(err)
		}
		if what, _ := p.failure(m.err, loopbackLimit); what != "no end in 60 s" {
			t.Errorf("%v is called %s", m.err, what)
		}
		child, err := os.ReadFile(filepath.Join(p.dir, "child"))
		if err != nil {
			t.Fatal(err)
		}
		// It was killed; on a busy machine it may not have had the time to die of it.
		for begun := time.Now(); ; time.Sleep(time.Millisecond) {
			status, err := os.ReadFile("/proc/" + strings.TrimSpace(string(child)) + "/stat")
			if err != nil || strings.Contains(string(status), ") Z ") || strings.Contains(string(status), ") X ") {
				break
			}
			if time.Since(begun) > 20*time.Second { // and it sleeps for longer
				t.Fatalf("a child is left: %s", status)
			}
		}
	}
}

// TestMlgetReadsTheBattery: the program's own sampler takes the laboratory's
// battery for a phone's.
func TestMlgetReadsTheBattery(t *testing.T) {
	linklab.SkipIfUnsupported(t)
	mlget := buildMlget(t)
	lab, err := linklab.Start(linklab.Config{
		Scenario: scenario.Scenario{Links: []scenario.Link{{Name: "wlan0", DownMbps: 10, Power: "lte"}}}, Size: 100,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lab.Close(); err != nil {
			t.Error(err)
		}
	}()
	text, err := lab.Command(t.Context(), "sh", "-c", mlget+` power --json --sysfs "$LINKLAB_SYSFS"`).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var sources []struct {
		Source   string
		Readable bool
		Chosen   bool
		Watts    *float64
	}
	if err := json.Unmarshal(text, &sources); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, s := range sources {
		// 0.7 W and the idle radio's 0.02, in steps of 4 mW.
		if s.Source == "battery" && s.Readable && s.Chosen && s.Watts != nil && math.Abs(*s.Watts-0.72) < 0.004 {
			return
		}
	}
	t.Errorf("%s", text)
}

// TestMPTCP takes both links with one connection, as curl --mptcp would.
func TestMPTCP(t *testing.T) {
	linklab.SkipIfUnsupported(t)
	if text, err := os.ReadFile("/proc/sys/net/mptcp/enabled"); err != nil || strings.TrimSpace(string(text)) != "1" {
		t.Skip("no MPTCP in this kernel")
	}
	if linklab.Find("ip") == "" {
		t.Skip("iproute2 is not installed")
	}
	s, err := scenario.Load(writeScenario(t))
	if err != nil {
		t.Fatal(err)
	}
	lab, err := linklab.Start(linklab.Config{Scenario: s, Size: 4e6})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := lab.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := setUpMPTCP(t.Context(), lab); err != nil {
		t.Skipf("MPTCP cannot be set up: %v", err)
	}
	var conn net.Conn
	err = lab.InClient(func() (err error) {
		var d net.Dialer
		d.SetMultipathTCP(true)
		// Without a deadline and names it dials on this thread.
		conn, err = d.Dial("tcp4", strings.Split(lab.URL(), "/")[2]+":80")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}}
	resp, err := client.Get(lab.URL())
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	if err2 := resp.Body.Close(); err != nil || err2 != nil || n != 4e6 {
		t.Fatalf("%d bytes, %v, %v", n, err, err2)
	}
	for _, l := range lab.Stats() {
		if l.Down.Bytes < 1e5 {
			t.Errorf("link %s carried %s", l.Name, fmt.Sprint(l.Down.Bytes))
		}
	}
}
