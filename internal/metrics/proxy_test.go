package metrics

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/mlget/mlget/internal/proxy"
)

// loopback is a link over the loopback interface.
type loopback struct {
	net.Dialer
	name string
}

func (l *loopback) Name() string { return l.name }

// proxyPage is the page of a proxy that has fetched 1,000 bytes, refused a connection and has
// a tunnel open.
func proxyPage(t *testing.T, accept string) []byte {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		_, _ = io.WriteString(w, strings.Repeat("x", 1000))
	}))
	t.Cleanup(server.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	shown := NewProxy("1.2.3", "go1.26")
	s := proxy.New(proxy.Config{Placement: proxy.Measured, Metrics: shown})
	shown.Show(s)
	s.Use(&loopback{name: "wlan0"}, proxy.Terms{}, false)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	self := &url.URL{Scheme: "http", Host: l.Addr().String()}
	tr := &http.Transport{Proxy: func(r *http.Request) (*url.URL, error) {
		if r.URL.Host == self.Host {
			return nil, nil
		}
		return self, nil
	}}
	t.Cleanup(tr.CloseIdleConnections)
	get := func(u string) []byte {
		r, err := http.NewRequest(http.MethodGet, u, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		resp, err := tr.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close() //nolint:errcheck // it is read
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	get(server.URL)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	get("http://" + closed.Addr().String())
	conn, err := net.Dial("tcp", self.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", server.Listener.Addr()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 12)); err != nil {
		t.Fatal(err)
	}
	return get(self.String() + "/metrics")
}

// TestProxyMetrics: names, types, labels and values are what docs/metrics.md says.
func TestProxyMetrics(t *testing.T) {
	families := parse(t, proxyPage(t, ""))
	value := func(name string, labels ...string) float64 {
		family := families[name]
		for _, m := range family.GetMetric() {
			var has []string
			for _, l := range m.GetLabel() {
				has = append(has, l.GetName()+"="+l.GetValue())
			}
			if strings.Join(has, ",") == strings.Join(labels, ",") {
				if h := m.GetHistogram(); h != nil {
					return float64(h.GetSampleCount())
				}
				return m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
		t.Errorf("there is no %s%v", name, labels)
		return -1
	}
	for _, protocol := range proxy.Protocols() {
		want := 0.
		if protocol == "connect" || protocol == "http" { // whose connection is kept
			want = 1
		}
		if got := value("mlget_proxy_tunnels", "link=wlan0", "protocol="+protocol); got != want {
			t.Errorf("%s: %v tunnels, want %v", protocol, got, want)
		}
	}
	for _, reason := range proxy.Reasons() {
		want := 0.
		if reason == "refused" {
			want = 1
		}
		if got := value("mlget_proxy_failures_total", "link=wlan0", "reason="+reason); got != want {
			t.Errorf("%s: %v failures, want %v", reason, got, want)
		}
	}
	if down := value("mlget_proxy_bytes_total", "direction=down", "link=wlan0"); down < 1000 || down > 2000 {
		t.Errorf("%v bytes down, want 1000 and a header", down)
	}
	if up := value("mlget_proxy_bytes_total", "direction=up", "link=wlan0"); up < 20 || up > 1000 {
		t.Errorf("%v bytes up, want a request", up)
	}
	if n := value("mlget_proxy_connect_seconds", "link=wlan0"); n != 2 {
		t.Errorf("%v connects, want 2", n)
	}
	if up := value("mlget_link_up", "link=wlan0"); up != 1 {
		t.Errorf("the link is %v", up)
	}
	if n := value("mlget_proxy_split_requests_total"); n != 0 {
		t.Errorf("%v were split", n)
	}
	if got := families["mlget_proxy_connect_seconds"].GetType(); got != dto.MetricType_HISTOGRAM {
		t.Error(got)
	}
}

func TestProxyPageIsWellFormed(t *testing.T) {
	if got := string(proxyPage(t, "application/openmetrics-text; version=1.0.0")); !strings.HasSuffix(got, "# EOF\n") {
		t.Errorf("no OpenMetrics: %.200s", got)
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not there: apt-get install prometheus")
	}
	cmd := exec.Command(promtool, "check", "metrics")
	cmd.Stdin = bytes.NewReader(proxyPage(t, ""))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}
