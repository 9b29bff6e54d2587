package linklab

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/linklab/battery"
)

// TestEnergyOfADownload holds the accounts against what follows from the bytes
// and from what is known of the times.
func TestEnergyOfADownload(t *testing.T) {
	l := startLab(t, Config{Scenario: parse(t, "link wlan0,down=40,rtt=4,power=lte\nlink rmnet0,down=20,rtt=10,power=wifi\nlink eth0,down=10"), Size: 1e6})
	meter := l.StartEnergy()
	get(t, dialer{lab: l, device: "wlan0"}, protocols((*http.Protocols).SetHTTP1), l.URL(), http.Header{})
	meter.End()
	atOnce, whole, long := meter.Energy(0), meter.Energy(UntilIdle), meter.Energy(time.Minute)
	if len(whole.Links) != 2 || whole.Links[0].Name != "wlan0" || whole.Links[1].Model != "wifi" {
		t.Fatalf("%+v", whole)
	}
	// A busy machine's pauses may be longer than what the radio holds its state for: then they
	// are tails, too.
	lte, ok := energy.Lookup("lte")
	if !ok {
		t.Fatal("no model")
	}
	k := whole.Links[0]
	if k.DownBytes < 1e6 || k.UpBytes < 1000 {
		t.Errorf("counted %+v", k)
	}
	ofBytes := 8e-9 * (lte.Down*float64(k.DownBytes) + lte.Up*float64(k.UpBytes))
	active := whole.Seconds - lte.PromotionTime.Seconds() + lte.Hold.Seconds()
	// The connection's end may come a moment after the command's.
	if most := ofBytes + 1e-3*lte.Active*(active+longestSettle.Seconds()); k.Transfer < ofBytes || k.Transfer > most {
		t.Errorf("transfer %g J, want %g to %g", k.Transfer, ofBytes, most)
	}
	once := 1e-3 * lte.Promotion * lte.PromotionTime.Seconds()
	tail := 1e-3 * lte.Tail * (lte.TailTime - lte.Hold).Seconds()
	if most := tail + 1e-3*lte.Tail*active; math.Abs(k.Promotion-once) > 1e-9 || k.Tail < tail-1e-9 || k.Tail > most {
		t.Errorf("promotion %g J, want %g; tail %g, want %g to %g", k.Promotion, once, k.Tail, tail, most)
	}
	if k := whole.Links[1]; math.Abs(k.Dynamic) > 1e-9 || k.DownBytes != 0 || k.Idle == 0 {
		t.Errorf("the link that was not used: %+v", k)
	}
	if atOnce.TailSeconds != 0 || atOnce.Total.After != 0 || atOnce.Total.Dynamic >= whole.Total.Dynamic {
		t.Errorf("without the tail: %+v", atOnce)
	}
	if long.TailSeconds != 60 || math.Abs(long.Total.Dynamic-whole.Total.Dynamic) > 1e-9 || long.Total.Idle <= whole.Total.Idle {
		t.Errorf("with a long tail: %+v, until idle: %+v", long, whole)
	}
	if got := whole.Total.Dynamic - whole.Total.After; math.Abs(got-atOnce.Total.Dynamic) > 1e-9 {
		t.Errorf("until the end %g J, want %g", got, atOnce.Total.Dynamic)
	}
	sum := whole.Total.Total() + battery.DefaultBaseWatts*(whole.Seconds+whole.TailSeconds)
	if math.Abs(sum-whole.DeviceJoules) > 1e-6 {
		t.Errorf("the phone: %g J, want %g", whole.DeviceJoules, sum)
	}
}

func TestNoModelsNoEnergy(t *testing.T) {
	l := startLab(t, Config{Scenario: parse(t, twoLinks), Size: 1000})
	meter := l.StartEnergy()
	meter.End()
	if e := meter.Energy(UntilIdle); e != nil || l.Sysfs() != "" {
		t.Errorf("%+v, %q", e, l.Sysfs())
	}
	out, err := l.Command(t.Context(), "sh", "-c", "echo $LINKLAB_SYSFS").Output()
	if err != nil || string(out) != "\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// TestRunTellsTheEnergy runs the command line.
func TestRunTellsTheEnergy(t *testing.T) {
	SkipIfUnsupported(t)
	file := filepath.Join(t.TempDir(), "energy.json")
	link := []string{"run", "--link", "wlan0,down=100,power=lte", "--size", "1K"}
	with := func(more ...string) []string { return append(link[:len(link):len(link)], more...) }
	cmd, out, errOut := mainCommand(t, with("--energy", file, "--base-power", "1.5", "--",
		"sh", "-c", "cd $LINKLAB_SYSFS/class/power_supply/battery && cat type status current_now; exit 3")...)
	if err := ignoreExit(cmd.Run()); err != nil || cmd.ProcessState.ExitCode() != 3 {
		t.Fatalf("%v, %v, %q", err, cmd.ProcessState, errOut)
	}
	// 1.5 W and the idle radio, at 3.85 V.
	if out.String() != "Battery\nDischarging\n-395000\n" {
		t.Errorf("the battery says %q", out)
	}
	lines := strings.Split(errOut.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "linklab: wlan0 (lte): 0.00 J above idle (promotion 0.00, ") ||
		!strings.Contains(lines[1], "radios, modelled: ") || !strings.HasSuffix(lines[2], "1.5 W of it for the rest of the phone") {
		t.Errorf("said %q", errOut)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var e Energy
	if err := d.Decode(&e); err != nil || e.Schema != 1 || !e.Modelled || e.BaseWatts != 1.5 || len(e.Links) != 1 || e.Links[0].Idle == 0 {
		t.Errorf("%s: %v", text, err)
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{with("--tail", "-1s", "--", "true"), "--tail -1s: must be"},
		{with("--gauge", "1ms", "--", "true"), "gauge 1ms: must be"},
		{with("--gauge-noise", "99", "--", "true"), "must be within 0..50"},
		{with("--base-power", "99", "--", "true"), "base power 99 W: must be"},
		{with("--energy", "/none/file", "--", "true"), "--energy: stat /none"},
		{[]string{"run", "--link", "a,down=1", "--energy", file, "--", "true"}, "no link has a power model"},
	} {
		cmd, _, errOut := mainCommand(t, tc.args...)
		if err := ignoreExit(cmd.Run()); err != nil || cmd.ProcessState.ExitCode() != statusFailed || !strings.Contains(errOut.String(), tc.want) {
			t.Errorf("%q: %v, %v, %q", tc.args, err, cmd.ProcessState, errOut)
		}
	}
}

// sampler reads a battery until it is stopped.
type sampler struct {
	stop    chan struct{}
	wg      sync.WaitGroup
	samples []energy.Sample
	err     error
}

func startSampler(begun time.Time, sysfs string, every time.Duration) *sampler {
	s := &sampler{stop: make(chan struct{})}
	s.wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			watts := 1e-12
			for _, name := range []string{"current_now", "voltage_now"} {
				text, err := os.ReadFile(filepath.Join(sysfs, "class/power_supply/battery", name))
				v, err2 := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
				if err = errors.Join(err, err2); err != nil {
					s.err = err
				}
				watts *= math.Abs(v)
			}
			s.samples = append(s.samples, energy.Sample{At: int64(time.Since(begun)), Watts: watts})
			select {
			case <-tick.C:
			case <-s.stop:
				return
			}
		}
	})
	return s
}

// dynamic stops the sampler and gives the energy above the base power, which is that before
// start, and what of it may be wrong as looks came late: in that time the power may have been
// anything between the base and its peak, in watts above the base.
func (s *sampler) dynamic(t *testing.T, start, every time.Duration) (joules, unseen, peak float64) {
	t.Helper()
	close(s.stop)
	s.wg.Wait()
	if s.err != nil {
		t.Fatal(s.err)
	}
	base, ok := energy.BasePower(s.samples, int64(start))
	if !ok {
		t.Fatal("no sample before the start")
	}
	first, last := s.samples[0].At, s.samples[len(s.samples)-1].At
	joules, _ = energy.Integrate(s.samples, first, last)
	late := time.Duration(0)
	for i, sample := range s.samples {
		peak = max(peak, sample.Watts-base)
		if i > 0 {
			late += max(0, time.Duration(sample.At-s.samples[i-1].At)-every)
		}
	}
	return joules - base*float64(last-first)/1e9, peak * late.Seconds(), peak
}

// TestBatteryOfADownload: what a sampler of the battery finds of a download of
// some 15 s and its tail is what the laboratory says.
func TestBatteryOfADownload(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	l := startLab(t, Config{
		Scenario: parse(t, "link wlan0,down=12,rtt=16,power=wifi-s7-mean\nlink rmnet0,down=9,rtt=50,ramp=2,power=3g"), Size: 60e6,
	})
	// The lab's own battery is looked at every second, another one every 100 ms.
	fast := t.TempDir()
	b, err := battery.Start(battery.Config{Every: 100 * time.Millisecond}, fast, radioMeter{l.emu})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	slowly, quickly := startSampler(begun, l.Sysfs(), time.Second), startSampler(begun, fast, 100*time.Millisecond)
	time.Sleep(3 * time.Second)
	start, meter := time.Since(begun), l.StartEnergy()
	metered := time.Since(begun)
	var wg sync.WaitGroup
	for i, device := range l.Links() {
		d := dialer{lab: l, device: device}
		wg.Go(func() { fetchFor(t, d, l.URL(), time.Duration(15-i)*time.Second) })
	}
	wg.Wait()
	least := time.Since(begun) - metered
	meter.End()
	most := time.Since(begun) - start
	want := meter.Energy(UntilIdle)
	if want.Seconds < least.Seconds() || want.Seconds > most.Seconds() || least < 14*time.Second || want.Total.Tail < 5 {
		t.Errorf("the download of %v to %v: %+v", least, most, want)
	}
	time.Sleep(time.Duration(want.TailSeconds*float64(time.Second)) + 2*time.Second)
	_, slowLate := l.Shown()
	_, quickLate := b.Shown()
	for _, tc := range []struct {
		s      *sampler
		every  time.Duration
		shown  time.Duration // for so long the battery has shown the same, at most
		within float64
	}{{slowly, time.Second, slowLate, 0.05}, {quickly, 100 * time.Millisecond, quickLate, 0.02}} {
		got, unseen, peak := tc.s.dynamic(t, start, tc.every)
		// On a busy machine looks come late, the battery's own as well: what they miss is
		// bounded by the peak. They catch up, so that the longest of the latter counts.
		unseen += peak * max(0, tc.shown-tc.every).Seconds()
		most := tc.within*want.Total.Dynamic + unseen
		t.Logf("every %v: %.2f J, the laboratory says %.2f (%+.2f %%); up to %.2f J were not seen", tc.every, got, want.Total.Dynamic,
			(got/want.Total.Dynamic-1)*100, unseen)
		if math.Abs(got-want.Total.Dynamic) > most {
			t.Errorf("every %v: %.3f J, want %.3f, %.3f more or less", tc.every, got, want.Total.Dynamic, most)
		}
		if most > want.Total.Dynamic/2 {
			t.Errorf("every %v: the machine is too busy to tell: up to %.3f of %.3f J were not seen", tc.every, unseen, want.Total.Dynamic)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// fetchFor fetches the URL for that long, and then leaves it.
func fetchFor(t *testing.T, d dialer, url string, long time.Duration) {
	tr := &http.Transport{DialContext: d.DialContext}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get(url)
	if err != nil {
		t.Error(err)
		return
	}
	timer := time.AfterFunc(long, func() { _ = resp.Body.Close() }) // which ends the copying
	n, _ := io.Copy(io.Discard, resp.Body)                          // by then it is enough
	if timer.Stop() || n < 1e6 {
		t.Errorf("over %s: %d bytes, and the end", d.device, n)
	}
}
