package metrics

import (
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/mlget/mlget/internal/proxy"
)

// Proxy shows a proxy. It answers requests for its page, by any number at once.
type Proxy struct {
	server  atomic.Pointer[proxy.Server] // nil: there is none yet
	handler http.Handler

	tunnels, bytes, connects, failures, spreads, up, rate, bandwidth, rtt *prometheus.Desc
}

// NewProxy shows nothing before Show but what built it.
func NewProxy(version, goVersion string) *Proxy {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("mlget_"+name, help, labels, nil)
	}
	p := &Proxy{
		tunnels:   desc("proxy_tunnels", "Connections that the proxy has made for clients and that are open.", "link", "protocol"),
		bytes:     desc("proxy_bytes_total", "Payload bytes that the proxy has carried, up to servers and down to clients.", "link", "direction"),
		connects:  desc("proxy_connect_seconds", "Time that connecting took over the link, names included.", "link"),
		failures:  desc("proxy_failures_total", "Failures to connect.", "link", "reason"),
		spreads:   desc("proxy_split_requests_total", "Requests whose answers came over several links."),
		up:        desc("link_up", "1: the link takes part.", "link"),
		rate:      desc("link_throughput_bytes_per_second", "What the link receives now.", "link"),
		bandwidth: desc("link_bandwidth_bytes_per_second", "What the link can carry, by the latest estimate.", "link"),
		rtt:       desc("link_rtt_seconds", "Round-trip time.", "link"),
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(p)
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "mlget_build_info", Help: "1."}, []string{"version", "goversion"})
	build.WithLabelValues(version, goVersion).Set(1)
	registry.MustRegister(build)
	p.handler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
	return p
}

// Show shows a server from now on.
func (p *Proxy) Show(s *proxy.Server) { p.server.Store(s) }

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// Describe implements prometheus.Collector.
func (p *Proxy) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.tunnels, p.bytes, p.connects, p.failures, p.spreads, p.up, p.rate, p.bandwidth, p.rtt} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (p *Proxy) Collect(samples chan<- prometheus.Metric) {
	s := p.server.Load()
	if s == nil {
		return
	}
	add := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		samples <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	add(p.spreads, prometheus.CounterValue, float64(s.Spreads()))
	for _, l := range s.Links() {
		name := strings.ToValidUTF8(l.Name, "\ufffd")
		for _, protocol := range proxy.Protocols() {
			add(p.tunnels, prometheus.GaugeValue, float64(l.Protocols[protocol]), name, protocol)
		}
		for _, reason := range proxy.Reasons() {
			add(p.failures, prometheus.CounterValue, float64(l.Failures[reason]), name, reason)
		}
		add(p.bytes, prometheus.CounterValue, float64(l.Up), name, "up")
		add(p.bytes, prometheus.CounterValue, float64(l.Down), name, "down")
		samples <- p.histogram(&l.Connects, name)
		up := 1.0
		if l.Spent {
			up = 0
		}
		add(p.up, prometheus.GaugeValue, up, name)
		add(p.rate, prometheus.GaugeValue, l.Rate, name)
		if l.Capacity > 0 {
			add(p.bandwidth, prometheus.GaugeValue, l.Capacity, name)
		}
		if l.RTT > 0 {
			add(p.rtt, prometheus.GaugeValue, l.RTT.Seconds(), name)
		}
	}
}

// histogram is one in Prometheus's way, which counts up to each bound.
func (p *Proxy) histogram(h *proxy.Histogram, name string) prometheus.Metric {
	buckets, bounds, count := make(map[float64]uint64), h.Bounds(), uint64(0)
	for i, n := range h.Counts {
		if count += n; i < len(bounds) {
			buckets[bounds[i].Seconds()] = count
		}
	}
	return prometheus.MustNewConstHistogram(p.connects, count, h.Sum.Seconds(), buckets, name)
}
