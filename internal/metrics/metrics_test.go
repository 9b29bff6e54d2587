package metrics

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/event/eventtest"
	"github.com/mlget/mlget/internal/goldentest"
	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/pkg/scheduler"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func runs() map[string][]event.Event {
	return map[string][]event.Event{
		"two-links":    eventtest.TwoLinks(),
		"on-the-way":   eventtest.TwoLinks()[:20],
		"unknown-size": eventtest.UnknownSize(),
		"empty-file":   eventtest.Empty(),
		"many-files":   eventtest.ManyFiles(25),
		"batch":        eventtest.Batch(),
		"every-type":   eventtest.Every(),
		"power":        powers(),
		"nothing":      nil,
	}
}

// powers is a run with a counter, and with a gauge that is plugged in for a while.
func powers() []event.Event {
	const s = scheduler.Second
	return []event.Event{
		event.Power{At: 1 * s, Source: "rapl", Counter: true},
		event.Power{At: 2 * s, Source: "rapl", Counter: true, Joules: 7, Watts: 7, Over: time.Second},
		event.Power{At: 1 * s, Source: "battery", Watts: 2},
		event.Power{At: 2 * s, Source: "battery", Watts: 4},
		event.Power{At: 3 * s, Source: "battery", Watts: 90, External: true},
		event.Power{At: 4 * s, Source: "battery", Watts: 3},
		event.Power{At: 5 * s, Source: "battery", Watts: 1},
	}
}

func after(events []event.Event) *Run {
	r := New("1.2.3", "go1.99")
	for _, e := range events {
		r.Add(e)
	}
	return r
}

// gather collects a run's metrics, and wants no inconsistency among them.
func gather(t testing.TB, r *Run) map[string]*dto.MetricFamily {
	t.Helper()
	list, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	families := map[string]*dto.MetricFamily{}
	for _, f := range list {
		families[f.GetName()] = f
	}
	return families
}

// page is what a scraper gets that accepts this format.
func page(t testing.TB, r *Run, accept string) []byte {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	req.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	newHandler(r).ServeHTTP(w, req)
	if w.Code != http.StatusOK || w.Header().Get("Content-Encoding") != "" {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	return w.Body.Bytes()
}

// parse reads a page as Prometheus would, whatever the order of labels.
func parse(t testing.TB, text []byte) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
		}
	}
	return families
}

// value is the value of the metric that bears the labels, name and value in turn.
func value(t testing.TB, families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	t.Helper()
	for _, m := range families[name].GetMetric() {
		if labelsOf(m) == strings.Join(labels, " ") {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	t.Fatalf("there is no %s with %q", name, labels)
	return 0
}

func labelsOf(m *dto.Metric) string {
	var all []string
	for _, l := range m.GetLabel() {
		all = append(all, l.GetName(), l.GetValue())
	}
	return strings.Join(all, " ")
}

// TestGolden: a page has the golden one's names, helps, types and values, in whatever
// order; of OpenMetrics it is the golden one.
func TestGolden(t *testing.T) {
	for name, events := range runs() {
		t.Run(name, func(t *testing.T) {
			r := after(events)
			text := page(t, r, "text/plain")
			problems, err := promlint.New(bytes.NewReader(text)).Lint()
			if err != nil || len(problems) > 0 {
				t.Errorf("%v, %v", problems, err)
			}
			golden, err := os.ReadFile(filepath.Join("testdata", name+".prom"))
			if err != nil {
				t.Fatal(err)
			}
			got, want := parse(t, text), parse(t, golden)
			for _, metric := range slices.Sorted(maps.Keys(want)) {
				if got[metric].String() != want[metric].String() {
					t.Errorf("got\n%s\nwant\n%s", got[metric], want[metric])
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d metrics, want %d:\n%s", len(got), len(want), text)
			}

			open := page(t, r, "application/openmetrics-text; version=1.0.0")
			goldentest.File(t, "testdata/"+name+".openmetrics", open)
		})
	}
}

// TestFormats: a scraper gets the format that it accepts, compressed where it can read that.
func TestFormats(t *testing.T) {
	address := served(t)
	// What Prometheus 2.53 sends.
	const both = "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
	for accept, want := range map[string]string{
		"": textPlain, "*/*": textPlain, "text/plain": textPlain, "image/webp, */*": textPlain,
		both: "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores",
	} {
		_, kind, body := ask(t, address, "GET", "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: "+accept+"\r\n\r\n")
		if kind != want || strings.HasSuffix(body, "# EOF\n") != (accept == both) {
			t.Errorf("Accept: %s: %s\n%s", accept, kind, body)
		}
	}
	_, _, body := ask(t, address, "GET", "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n")
	plain, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(plain); err != nil || !bytes.Equal(text, page(t, after(eventtest.TwoLinks()), "")) {
		t.Errorf("%v: %s", err, text)
	}
}

// TestShowProcess: Go's and the process's metrics are added, and mlget's are as before.
func TestShowProcess(t *testing.T) {
	r := after(eventtest.TwoLinks())
	before := gather(t, r)
	r.ShowProcess()
	families := gather(t, r)
	for name, f := range before {
		if families[name].String() != f.String() {
			t.Errorf("%s has changed", name)
		}
	}
	if value(t, families, "go_goroutines") < 1 || runtime.GOOS == "linux" && value(t, families, "process_resident_memory_bytes") < 1 {
		t.Error("no goroutine, or no memory")
	}
}

func TestPromtool(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not there: apt-get install prometheus")
	}
	for name, events := range runs() {
		cmd := exec.Command(promtool, "check", "metrics")
		cmd.Stdin = bytes.NewReader(page(t, after(events), ""))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	for _, args := range [][]string{
		{"check", "rules", "../../docs/prometheus/alerts.yml"},
		{"check", "config", "../../docs/prometheus/prometheus.yml"},
		{"test", "rules", "testdata/alerts_test.yml"},
	} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v: %s", args, err, out)
		}
	}
}

// TestContract: the names, the types and the labels that were promised, and no
// others.
func TestContract(t *testing.T) {
	const counter, gauge, histogram = dto.MetricType_COUNTER, dto.MetricType_GAUGE, dto.MetricType_HISTOGRAM
	want := map[string]struct {
		kind   dto.MetricType
		labels string
	}{
		"mlget_received_bytes_total":             {counter, "link"},
		"mlget_wasted_bytes_total":               {counter, "link"},
		"mlget_requests_total":                   {counter, "link outcome"},
		"mlget_request_duration_seconds":         {histogram, "link"},
		"mlget_link_up":                          {gauge, "link"},
		"mlget_link_throughput_bytes_per_second": {gauge, "link"},
		"mlget_link_bandwidth_bytes_per_second":  {gauge, "link"},
		"mlget_link_rtt_seconds":                 {gauge, "link"},
		"mlget_link_delta_seconds":               {gauge, ""},
		"mlget_download_size_bytes":              {gauge, ""},
		"mlget_download_remaining_bytes":         {gauge, ""},
		"mlget_power_watts":                      {gauge, "source"},
		"mlget_energy_joules_total":              {counter, "source"},
		"mlget_energy_covered_ratio":             {gauge, "source"},
		"mlget_run_info":                         {gauge, "algorithm links_count version"},
		"mlget_run_start_timestamp_seconds":      {gauge, ""},
		"mlget_run_end_timestamp_seconds":        {gauge, ""},
		"mlget_run_exit_code":                    {gauge, ""},
		"mlget_build_info":                       {gauge, "goversion version"},
	}
	families := gather(t, after(append(powers(), eventtest.TwoLinks()...)))
	for name, w := range want {
		f := families[name]
		if f == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		for _, m := range f.GetMetric() {
			var names []string
			for _, l := range m.GetLabel() {
				names = append(names, l.GetName())
			}
			if f.GetType() != w.kind || strings.Join(names, " ") != w.labels {
				t.Errorf("%s is a %v with labels %v", name, f.GetType(), names)
			}
		}
	}
	for name := range families {
		if _, promised := want[name]; !promised {
			t.Errorf("%s is not in the contract", name)
		}
	}
}

// TestAgreesWithReport: to the byte, and in all that both tell.
func TestAgreesWithReport(t *testing.T) {
	for name, events := range runs() {
		var b report.Builder
		for _, e := range events {
			b.Add(e)
		}
		want := b.Report()
		got := gather(t, after(events))
		var wasted int64
		for _, l := range want.Links {
			if name == "every-type" || name == "on-the-way" { // a made-up mixture; requests in flight
				break
			}
			received, thrown := value(t, got, "mlget_received_bytes_total", "link", printable(l.Name)), value(t, got, "mlget_wasted_bytes_total", "link", printable(l.Name))
			wasted += int64(thrown)
			if int64(received)-int64(thrown) != l.Bytes {
				t.Errorf("%s, %s: %v received, %v of it wasted; the report has %d", name, l.Name, received, thrown, l.Bytes)
			}
			requests := 0.0
			for _, o := range outcomes() {
				requests += value(t, got, "mlget_requests_total", "link", printable(l.Name), "outcome", string(o))
			}
			if int(requests) != l.Requests {
				t.Errorf("%s, %s: %v requests; the report has %d", name, l.Name, requests, l.Requests)
			}
			if l.RTTMs > 0 && value(t, got, "mlget_link_rtt_seconds", "link", printable(l.Name)) != l.RTTMs/1e3 {
				t.Errorf("%s, %s: round trip is not %v ms", name, l.Name, l.RTTMs)
			}
		}
		if name == "every-type" || name == "on-the-way" || len(want.Links) == 0 {
			continue
		}
		if wasted != want.WastedBytes {
			t.Errorf("%s: %d wasted; the report has %d", name, wasted, want.WastedBytes)
		}
		if want.SizeBytes >= 0 && int64(value(t, got, "mlget_download_size_bytes")) != want.SizeBytes {
			t.Errorf("%s: size is not %d", name, want.SizeBytes)
		}
		if want.ExitCode == 0 && value(t, got, "mlget_download_remaining_bytes") != 0 {
			t.Errorf("%s: something remains", name)
		}
		if f := got["mlget_link_delta_seconds"]; f != nil && value(t, got, "mlget_link_delta_seconds") != want.LinkDeltaSeconds {
			t.Errorf("%s: link delta is not %v", name, want.LinkDeltaSeconds)
		}
	}
}

func printable(name string) string { return strings.ToValidUTF8(name, "\ufffd") }

// TestCountersNeverFall: to Prometheus a counter that falls has begun anew.
func TestCountersNeverFall(t *testing.T) {
	for name, events := range runs() {
		if name == "every-type" { // a made-up mixture
			continue
		}
		before := map[string]float64{}
		r := New("1", "go1")
		for i, e := range events {
			r.Add(e)
			for metric, f := range gather(t, r) {
				for _, m := range f.GetMetric() {
					key := metric + " " + labelsOf(m)
					now := m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
					if now < before[key] {
						t.Errorf("%s: after event %d (%s) %s is %v; it was %v", name, i, e.Kind(), key, now, before[key])
					}
					before[key] = now
				}
			}
		}
	}
}

func TestWhileItRuns(t *testing.T) {
	r := after(runs()["on-the-way"])
	got := gather(t, r)
	for _, c := range []struct {
		want   float64
		name   string
		labels []string
	}{
		{41e6, "mlget_received_bytes_total", []string{"link", "wlan0"}}, // by the last sample
		{20e6, "mlget_received_bytes_total", []string{"link", "rmnet0"}},
		{10.25e6, "mlget_link_throughput_bytes_per_second", []string{"link", "wlan0"}},
		{10.5e6, "mlget_link_bandwidth_bytes_per_second", []string{"link", "wlan0"}},
		{0.017, "mlget_link_rtt_seconds", []string{"link", "wlan0"}},
		{100e6, "mlget_download_size_bytes", nil},
		{15e6, "mlget_download_remaining_bytes", nil},
		{1, "mlget_link_up", []string{"link", "rmnet0"}},
		{1, "mlget_request_duration_seconds", []string{"link", "wlan0"}},
	} {
		if v := value(t, got, c.name, c.labels...); v != c.want {
			t.Errorf("%s %v: %v, want %v", c.name, c.labels, v, c.want)
		}
	}
	if d := value(t, got, "mlget_link_delta_seconds"); !math.IsNaN(d) {
		t.Errorf("Link Δ is told before the end: %v", d)
	}
	for _, name := range []string{"mlget_run_end_timestamp_seconds", "mlget_run_exit_code"} {
		if got[name] != nil {
			t.Errorf("%s is told before the end", name)
		}
	}
	if value(t, got, "mlget_run_start_timestamp_seconds") != float64(eventtest.Started().UnixMilli())/1e3 {
		t.Error("the run began at another time")
	}
	r.Add(event.LinkChanged{Link: 1, State: event.LinkBanned})
	r.Add(event.RunEnded{At: 7 * scheduler.Second, ExitCode: 4})
	got = gather(t, r)
	if at := value(t, got, "mlget_run_end_timestamp_seconds") - value(t, got, "mlget_run_start_timestamp_seconds"); math.Abs(at-7) > 1e-3 || value(t, got, "mlget_run_exit_code") != 4 {
		t.Errorf("it ended after %v s", at)
	}
	if value(t, got, "mlget_link_up", "link", "rmnet0") != 0 {
		t.Error("a banned link is up")
	}
	if value(t, got, "mlget_link_throughput_bytes_per_second", "link", "wlan0") != 0 {
		t.Error("bytes come after the end")
	}
}

// TestBatch: files of a batch have one sample together; what one receives that is
// downloaded by itself is added. At each of its events the page has all bytes of the
// last samples.
func TestBatch(t *testing.T) {
	r := New("1", "go1")
	shown := map[event.FileID]event.Sample{}
	size := int64(0)
	for i, e := range eventtest.Batch() {
		r.Add(e)
		switch e := e.(type) {
		case event.ObjectKnown:
			size += e.Size
			continue
		case event.Sample:
			shown[e.File] = e
		default:
			continue
		}
		received, rate, bandwidth := [2]float64{}, [2]float64{}, [2]float64{}
		for id, s := range shown {
			for l, ls := range s.Links {
				received[l] += float64(ls.Bytes)
				if r.files[id] != nil {
					rate[l] += ls.Rate
					bandwidth[l] += ls.Bandwidth
				}
			}
		}
		got := gather(t, r)
		for l, name := range []string{"wlan0", "rmnet0"} {
			if v := value(t, got, "mlget_received_bytes_total", "link", name); v != received[l] {
				t.Errorf("event %d, %s: %v received, want %v", i, name, v, received[l])
			}
			if v := value(t, got, "mlget_link_throughput_bytes_per_second", "link", name); v != rate[l] {
				t.Errorf("event %d, %s: rate %v, want %v", i, name, v, rate[l])
			}
			if bandwidth[l] > 0 && value(t, got, "mlget_link_bandwidth_bytes_per_second", "link", name) != bandwidth[l] {
				t.Errorf("event %d, %s: bandwidth is not %v", i, name, bandwidth[l])
			}
		}
		left := size - shown[event.Batch].Done
		if c, own := shown[2]; own && size == 7e6 {
			left -= c.Done - 200_000 // which the batch has fetched
		} else if own {
			left += 200_000 // of a file whose size is not known
		}
		if all, rest := value(t, got, "mlget_download_size_bytes"), value(t, got, "mlget_download_remaining_bytes"); int64(all) != size || int64(rest) != left {
			t.Errorf("event %d: %v of %v are missing, want %d of %d", i, rest, all, left, size)
		}
	}
}

func TestPower(t *testing.T) {
	got := gather(t, after(powers()))
	for source, want := range map[string][2]float64{"rapl": {7, 7}, "battery": {1, 5}} {
		watts, joules := value(t, got, "mlget_power_watts", "source", source), value(t, got, "mlget_energy_joules_total", "source", source)
		if watts != want[0] || joules != want[1] {
			t.Errorf("%s: %v W, %v J; want %v", source, watts, joules, want)
		}
	}
}

// TestWithdrawnRequestTookNoTime: a request that was withdrawn before it was sent took no time.
func TestWithdrawnRequestTookNoTime(t *testing.T) {
	r := after([]event.Event{event.RunStarted{Links: []event.LinkInfo{{Name: "a"}}}, event.RequestEnded{At: 5}, event.RequestEnded{Sent: 1, At: 2}})
	if n := value(t, gather(t, r), "mlget_request_duration_seconds", "link", "a"); n != 1 {
		t.Errorf("%v requests took time", n)
	}
}

// TestHostileNames: whatever a link is called, the page stays a page, and says
// nothing of URLs and errors.
func TestHostileNames(t *testing.T) {
	names := []string{"a\"}\nmlget_fake 1\n", `back\slash`, "\xff\xfe", "same", "same", ""}
	run := event.RunStarted{}
	for _, n := range names {
		run.Links = append(run.Links, event.LinkInfo{Name: n})
	}
	r := after([]event.Event{run, event.FileStarted{URL: "http://secret/", Output: "secret"}})
	for i := range names {
		r.Add(event.RequestEnded{Link: scheduler.LinkID(i), Bytes: int64(i + 1), Error: "secret", Outcome: event.OutcomeNetwork})
	}
	text := page(t, r, "")
	families := parse(t, text)
	if v := value(t, families, "mlget_received_bytes_total", "link", "same"); v != 9 {
		t.Errorf("two links of one name: %v", v)
	}
	value(t, families, "mlget_received_bytes_total", "link", names[0])
	if slices.Contains(slices.Collect(maps.Keys(families)), "mlget_fake") || bytes.Contains(text, []byte("secret")) {
		t.Errorf("%s", text)
	}
}

// TestForeignIDs: ids that there cannot be do no harm.
func TestForeignIDs(t *testing.T) {
	for _, id := range []scheduler.LinkID{-1, 1, 1 << 30} {
		r := after([]event.Event{
			event.RunStarted{Links: []event.LinkInfo{{Name: "a"}}},
			event.FileStarted{},
			event.LinkChanged{Link: id},
			event.ConnOpened{Link: id},
			event.RequestEnded{Link: id, Bytes: 5},
			event.Sample{Links: make([]event.LinkSample, 2000)},
			event.RunEnded{Links: make([]event.LinkTotals, 2000)},
		})
		if v := value(t, gather(t, r), "mlget_received_bytes_total", "link", "a"); v != 0 {
			t.Errorf("link %d: %v bytes went to another", id, v)
		}
	}
}

// TestLinkJoins: a link that comes during the run has metrics from then on; ids
// that are out of turn are no links.
func TestLinkJoins(t *testing.T) {
	r := after([]event.Event{
		event.RunStarted{Links: []event.LinkInfo{{Name: "wlan0"}}},
		event.LinkJoined{Link: 2, Info: event.LinkInfo{Name: "out of turn"}},
		event.LinkJoined{Link: 1, Info: event.LinkInfo{Name: "usb0"}},
		event.RequestEnded{Link: 1, Bytes: 7, Outcome: event.OutcomeDone},
	})
	families := gather(t, r)
	if v := value(t, families, "mlget_received_bytes_total", "link", "usb0"); v != 7 {
		t.Errorf("%v", v)
	}
	if n := len(families["mlget_link_up"].GetMetric()); n != 2 {
		t.Errorf("%d links", n)
	}
}

// TestReadWhileFed is for the race detector.
func TestReadWhileFed(t *testing.T) {
	var bus event.Bus
	sub := bus.Subscribe()
	r := New("1", "go1")
	var wait sync.WaitGroup
	wait.Go(func() { r.Watch(sub) })
	for range 3 {
		wait.Go(func() {
			for range 20 {
				gather(t, r)
			}
		})
	}
	for _, e := range eventtest.ManyFiles(50) {
		bus.Publish(e)
	}
	bus.Close()
	wait.Wait()
	if v := value(t, gather(t, r), "mlget_received_bytes_total", "link", "wlan0"); v != 20e6 {
		t.Errorf("%v", v)
	}
}
