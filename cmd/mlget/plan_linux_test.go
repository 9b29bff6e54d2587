package main_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/linklab"
)

// crossed is how many bytes the kernel counts on the lab's rmnet0, received and sent.
func (l *lab) crossed(t *testing.T) int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	out, err := l.Command(ctx, "cat", "/proc/self/net/dev").Output()
	must(t, err)
	m := regexp.MustCompile(`(?m)^\s*rmnet0:\s*(\d+)\s+(?:\d+\s+){7}(\d+)`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("no rmnet0 in\n%s", out)
	}
	in, err := strconv.ParseInt(string(m[1]), 10, 64)
	must(t, err)
	sent, err := strconv.ParseInt(string(m[2]), 10, 64)
	must(t, err)
	return in + sent
}

// settled is what has crossed rmnet0 when what was on its way has come, too.
func (l *lab) settled(t *testing.T) int64 {
	t.Helper()
	for before := l.crossed(t); ; {
		time.Sleep(200 * time.Millisecond)
		now := l.crossed(t)
		if now == before {
			return now
		}
		before = now
	}
}

// uncounted is how many bytes have come so far that no plan counts: packets for connections that were
// closed before, each of which Linux answers by a reset (RFC 9293, 3.10.7.1), and those that came
// twice, of which it tells the sender (RFC 2883).
func (l *lab) uncounted(t *testing.T) int64 {
	t.Helper()
	const packet = 1500 // bytes; the interface's MTU
	n := int64(0)
	for file, names := range map[string][]string{"snmp": {"OutRsts"}, "netstat": {"TCPDSACKOldSent", "TCPDSACKOfoSent"}} {
		out, err := l.Command(t.Context(), "cat", "/proc/self/net/"+file).Output()
		must(t, err)
		n += packet * sumCounters(t, string(out), names...)
	}
	return n
}

// sumCounters adds up some of the counters that the kernel tells in lines of names and of values,
// by turns.
func sumCounters(t *testing.T, text string, names ...string) (sum int64) {
	t.Helper()
	lines := strings.Split(text, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		values := strings.Fields(lines[i+1])
		for j, name := range strings.Fields(lines[i]) {
			if slices.Contains(names, name) {
				n, err := strconv.ParseInt(values[j], 10, 64)
				must(t, err)
				sum += n
			}
		}
	}
	return sum
}

// plan is what mlget links says of rmnet0's plan.
func (l *lab) plan(t *testing.T) (used, left int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	c := l.Command(ctx, "mlget", "links", "--json")
	c.Env = l.state()
	out, err := c.Output()
	must(t, err)
	var links []struct {
		Name string
		Plan struct {
			Used int64 `json:"used_bytes"`
			Left int64 `json:"left_bytes"`
		} `json:"data_plan"`
	}
	must(t, json.Unmarshal(out, &links))
	for _, k := range links {
		if k.Name == "rmnet0" {
			return k.Plan.Used, k.Plan.Left
		}
	}
	t.Fatalf("no rmnet0 in\n%s", out)
	return 0, 0
}

// state is an environment with a state directory of the lab's own.
func (l *lab) state() []string {
	return append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(l.dir, "state"), "TZ=UTC")
}

// spend starts a download over rmnet0 within a plan.
func (l *lab) spend(t *testing.T, out, plan string, more ...string) (wait func() result, kill func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	args := append([]string{"--links", "rmnet0", "--link", "rmnet0,cap=" + plan, "-o", out, l.URL()}, more...)
	c := l.Command(ctx, "mlget", args...)
	c.Dir, c.Env = l.dir, l.state()
	r := &running{Cmd: c}
	c.Stderr = &r.stderr
	must(t, c.Start())
	return func() result { return r.end(t) }, func() {
		waitForBytes(t, filepath.Join(l.dir, out+".part"), 8<<20)
		must(t, c.Process.Kill())
		r.end(t)
	}
}

// TestDataPlanOfProgramsAtOnce: two programs use a plan together, until both end with exit 45
// as nothing is left. The kernel's counters of the interface are what a carrier counts: beyond
// the plan is what was on its way when requests were withdrawn.
func TestDataPlanOfProgramsAtOnce(t *testing.T) {
	t.Parallel()
	const plan = 12 << 20
	l := startLab(t, linklab.Config{Size: 40e6}, slowLTE)
	before := l.settled(t)
	one, _ := l.spend(t, "one.bin", "12M/month")
	two, _ := l.spend(t, "two.bin", "12M/month")
	for _, wait := range []func() result{one, two} {
		wait().want(t, 45, `^mlget: hint: .*mlget links shows what is left of data plans$`)
	}
	crossed := l.settled(t) - before
	used, left := l.plan(t)
	if left > 16<<10 || used < plan-16<<10 || used > plan+onItsWay {
		t.Errorf("%d bytes are booked of %d, %d left", used, plan, left)
	}
	if crossed > plan+onItsWay || crossed < plan*9/10 {
		t.Errorf("%d bytes crossed the link, of %d", crossed, plan)
	}
	t.Logf("%d bytes crossed the link, %d of a plan of %d are booked", crossed, used, plan)

	// Nothing is begun now, and it is said why.
	before = l.settled(t)
	again, _ := l.spend(t, "one.bin", "12M/month")
	again().want(t, 45, `^mlget: .*rmnet0: nothing is left of its data plan, 12\.0 MiB a month, until \d{4}-\d\d-01`)
	if n := l.settled(t) - before; n != 0 {
		t.Errorf("%d bytes crossed the link without a plan", n)
	}
	// With more it goes on where it stopped.
	more, _ := l.spend(t, "one.bin", "100M/month")
	more().want(t, 0)
}

// onItsWay is what may be on its way over fastLTE when a request is withdrawn or its program is
// killed, in bytes: what 30 ms and the queue hold, of two programs.
const onItsWay = 2 << 20

// TestDataPlanOfAKilledProgram: what it used is booked, with a lease more at most.
func TestDataPlanOfAKilledProgram(t *testing.T) {
	t.Parallel()
	const plan = 100 << 20
	l := startLab(t, linklab.Config{Size: 40e6}, fastLTE)
	before := l.settled(t)
	_, kill := l.spend(t, "out.bin", "100M/month")
	kill()
	crossed := l.settled(t) - before
	used, left := l.plan(t)
	if used < crossed-onItsWay || used > crossed+plan/8 || used+left != plan {
		t.Errorf("%d bytes are booked, %d crossed the link, %d left", used, crossed, left)
	}
	// The next one goes on, and within what is left.
	get, _ := l.spend(t, "out.bin", "100M/month")
	get().want(t, 0)
	all := l.settled(t) - before
	if used, _ := l.plan(t); used < all-onItsWay || used > all+plan/8 {
		t.Errorf("%d bytes are booked of both, %d crossed the link", used, all)
	}
}

// TestDataPlanCountsWhatCrosses: headers of every layer included, within 1 % of what the
// interface carries, but for what came twice or for withdrawn requests; and what was not used is
// given back.
func TestDataPlanCountsWhatCrosses(t *testing.T) {
	t.Parallel()
	for _, more := range [][]string{{}, {"-p", "4"}, {"--http2-prior-knowledge"}} {
		t.Run(strings.Join(more, " "), func(t *testing.T) {
			t.Parallel()
			l := startLab(t, linklab.Config{Size: 20e6}, slowLTE)
			before, uncountedBefore := l.settled(t), l.uncounted(t)
			get, _ := l.spend(t, "out.bin", "1G/month", more...)
			get().want(t, 0)
			crossed, uncounted := l.settled(t)-before, l.uncounted(t)-uncountedBefore
			used, left := l.plan(t)
			if want := crossed - uncounted; used < want*99/100 || used > want*101/100 || used+left != 1<<30 {
				t.Errorf("%d bytes are booked of %d that crossed the link, %d of them uncounted, %d left", used, crossed, uncounted, left)
			}
			t.Logf("%d bytes crossed the link, %d are booked, %d uncounted", crossed, used, uncounted)
		})
	}
}

// TestHoursOfALink: one whose hours are over when a minute ends leaves the download, which the
// other carries to its end.
func TestHoursOfALink(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for a minute to end")
	}
	l := startLab(t, linklab.Config{Size: 40e6}, "wlan0,down=24,rtt=10", "rmnet0,down=8,rtt=30")
	now := time.Now().UTC()
	if now.Second() > 50 {
		time.Sleep(time.Duration(61-now.Second()) * time.Second)
		now = time.Now().UTC()
	}
	time.Sleep(time.Duration(52-now.Second()) * time.Second)
	hours := now.Add(-time.Hour).Format("15:04") + "-" + now.Add(time.Minute).Format("15:04")
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	c := l.Command(ctx, "mlget", "--links", "wlan0,rmnet0", "--link", "rmnet0,window="+hours, "-o", "out.bin", "--report", "report.json", l.URL())
	c.Dir, c.Env = l.dir, l.state()
	r := finish(t, c, c.Cmd)
	r.want(t, 0, `^mlget: link rmnet0 is not used any more: its hours, `+hours+`, are over$`)
	l.wantBody(t)
	rep := readReport(t, filepath.Join(l.dir, "report.json"))
	for _, k := range rep.Links {
		if k.Name == "rmnet0" && (k.State != "lost" || k.Bytes == 0 || k.FinishedSeconds > 10) {
			t.Errorf("%+v", k)
		}
	}
	// Alone it is not even begun.
	closed := now.Add(2*time.Hour).Format("15:04") + "-" + now.Add(3*time.Hour).Format("15:04")
	before := l.settled(t)
	l.auto(t, "--links", "rmnet0", "--link", "rmnet0,window="+closed, l.URL()).want(t, 45, `^mlget: .*rmnet0: it is outside of its hours, `+closed)
	if n := l.settled(t) - before; n != 0 {
		t.Errorf("%d bytes crossed the link", n)
	}
}
