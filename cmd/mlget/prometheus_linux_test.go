package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/report"
)

const prometheusConfig = `
global:
  scrape_interval: 200ms
  scrape_timeout: 200ms
scrape_configs:
  - job_name: mlget
    static_configs:
      - targets: ["127.0.0.1:9464"]
`

// startPrometheus starts Debian's Prometheus in the lab's client, where mlget's
// loopback is.
func (l *lab) startPrometheus(t *testing.T) (query func(expr string) map[string]float64) {
	t.Helper()
	for _, name := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not there: apt-get install prometheus", name)
		}
	}
	config := filepath.Join(l.dir, "prometheus.yml")
	if err := os.WriteFile(config, []byte(prometheusConfig), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	server := l.Command(ctx, "prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(l.dir, "tsdb"),
		"--web.listen-address=127.0.0.1:9090", "--log.level=error")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = server.Wait() // it was killed
	})
	return func(expr string) map[string]float64 {
		promtool := l.Command(ctx, "promtool", "query", "instant", "-o", "json", "http://127.0.0.1:9090", expr)
		out, _ := promtool.Output() // it fails until Prometheus is up
		return samples(t, string(out))
	}
}

// samples gives an answer's values by link; of those without, by "".
func samples(t *testing.T, text string) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	var all []struct {
		Metric struct{ Link string }
		Value  [2]any
	}
	if json.Unmarshal([]byte(text), &all) != nil { // it is not up yet
		return values
	}
	for _, s := range all {
		v, err := strconv.ParseFloat(fmt.Sprint(s.Value[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		values[s.Metric.Link] = v
	}
	return values
}

// TestPrometheus: a real one scrapes a real download over two links, and has the
// report's totals to the byte.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 30e6}, slowWiFi, slowLTE)
	query := l.startPrometheus(t)
	// It looks for targets some seconds after it is up.
	waitUntil(t, "Prometheus", func() bool { return len(query("up")) > 0 })

	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	c := l.command(ctx, "-o", "out.bin", "--report", "report.json", "--metrics-listen", "9464", "--metrics-linger", "1h", l.URL())
	ended := make(chan result, 1)
	go func() { ended <- finish(t, c, c.Cmd) }()
	waitUntil(t, "a scrape after the end", func() bool { return len(query("mlget_run_exit_code")) > 0 })
	waitUntil(t, "the report", func() bool {
		text, err := os.ReadFile(filepath.Join(l.dir, "report.json"))
		return err == nil && json.Valid(text)
	})
	r := readReport(t, filepath.Join(l.dir, "report.json"))
	// A scrape that a busy machine is late with ends all series until the next one.
	final := func(name string) map[string]float64 { return query("sum by (link) (last_over_time(" + name + "[1m]))") }
	agree(t, final, r)
	during := query("max_over_time(mlget_download_remaining_bytes[1m])")
	if err := c.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	(<-ended).want(t, 0)
	l.wantBody(t)

	if during[""] == 0 {
		t.Error("nothing was scraped while it ran")
	}
}

// agree wants the metrics that final gives by link to be the report's, to the byte.
func agree(t *testing.T, final func(name string) map[string]float64, r report.Report) {
	t.Helper()
	received, wasted, requests := final("mlget_received_bytes_total"), final("mlget_wasted_bytes_total"), final("mlget_requests_total")
	thrown := 0.0
	for _, link := range r.Links {
		thrown += wasted[link.Name]
		if int64(received[link.Name]-wasted[link.Name]) != link.Bytes || int(requests[link.Name]) != link.Requests {
			t.Errorf("%s: %v bytes received, %v wasted, %v requests; the report: %+v", link.Name, received, wasted, requests, link)
		}
	}
	delta, size, remaining := final("mlget_link_delta_seconds")[""], final("mlget_download_size_bytes")[""], final("mlget_download_remaining_bytes")[""]
	if int64(thrown) != r.WastedBytes || delta != r.LinkDeltaSeconds || int64(size) != r.SizeBytes || (remaining == 0) != (r.ExitCode == 0) {
		t.Errorf("wasted %v, delta %v, size %v, remaining %v; the report: %+v", thrown, delta, size, remaining, r)
	}
}

// page gives the metrics of a page by link, sums where there are several.
func page(t *testing.T, text string) (final func(name string) map[string]float64) {
	t.Helper()
	sample := regexp.MustCompile(`(?m)^(\w+)(?:\{(?:link="([^"]*)")?[^}]*\})? (\S+)$`)
	return func(name string) map[string]float64 {
		values := map[string]float64{}
		for _, m := range sample.FindAllStringSubmatch(text, -1) {
			if m[1] != name {
				continue
			}
			v, err := strconv.ParseFloat(m[3], 64)
			if err != nil {
				t.Fatal(err)
			}
			values[m[2]] += v
		}
		return values
	}
}

// TestMetricsOfTrouble: also after a link died, and requests were withdrawn,
// copied and cut off.
func TestMetricsOfTrouble(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 20e6}, slowWiFi, slowLTE)
	for _, c := range []struct {
		name, event string
		args        []string
		code        int
	}{
		{"a link dies", "wlan0 down", nil, 0},
		{"it comes back", "wlan0 up", nil, 0},
		{"streams", "", []string{"-p", "3", "--algorithm", "naive"}, 0},
		{"out of time", "", []string{"--max-time", "3s", "--limit-rate", "4MB"}, 4}, // the size is known by then, also on a busy machine
	} {
		t.Run(c.name, func(t *testing.T) {
			r := l.start(t, append([]string{"--metrics-textfile", "m.prom"}, c.args...)...)
			if c.event != "" {
				l.waitFor(t, 4e6)
				happen(t, l, c.event)
			}
			r.end(t).want(t, c.code)
			text, err := os.ReadFile(filepath.Join(l.dir, "m.prom"))
			if err != nil {
				t.Fatal(err)
			}
			agree(t, page(t, string(text)), readReport(t, filepath.Join(l.dir, "report.json")))
			_ = os.Remove(filepath.Join(l.dir, "out.bin"))
		})
	}
}
