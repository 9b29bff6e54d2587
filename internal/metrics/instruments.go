package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// instruments are the metrics of one registry. A metric whose value is not known, or
// not yet, has no sample.
type instruments struct {
	wasted, requests          *prometheus.CounterVec
	durations                 *prometheus.HistogramVec
	up, rtt, bandwidth, watts *prometheus.GaugeVec
	build, info               *prometheus.GaugeVec

	// Computed by Run.Collect.
	received, throughput, delta, size, remaining, joules, covered *prometheus.Desc
	begun, ended, exit                                            *prometheus.Desc
}

func newInstruments(registry *prometheus.Registry) instruments {
	auto := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return auto.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return auto.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	computed := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return instruments{
		wasted:   counter("mlget_wasted_bytes_total", "Of the payload bytes received over the link, those that were thrown away; known when a request ends.", "link"),
		requests: counter("mlget_requests_total", "Requests over the link that have ended, by how they ended.", "link", "outcome"),
		durations: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name: "mlget_request_duration_seconds",
			Help: "Time from sending a request over the link to its end.",
			// From a request for a small file over Ethernet to one that a slow link works
			// on for two minutes.
			Buckets: []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120},
		}, []string{"link"}),
		up:        gauge("mlget_link_up", "1 if the link takes part, 0 if it is banned, lost, or has spent its allowance.", "link"),
		rtt:       gauge("mlget_link_rtt_seconds", "Least round-trip time seen on the link.", "link"),
		bandwidth: gauge("mlget_link_bandwidth_bytes_per_second", "What the link can carry, by the scheduler's last estimate.", "link"),
		watts:     gauge("mlget_power_watts", "Power that the device draws, by the source's last reading.", "source"),
		build:     gauge("mlget_build_info", "Version of mlget and of the Go that built it; the value is 1.", "version", "goversion"),
		info:      gauge("mlget_run_info", "The run: its algorithm, how many links take part, and the version of mlget; the value is 1.", "algorithm", "links_count", "version"),

		received:   computed("mlget_received_bytes_total", "Payload bytes received over the link, those included that were thrown away.", "link"),
		throughput: computed("mlget_link_throughput_bytes_per_second", "What the link receives now.", "link"),
		delta:      computed("mlget_link_delta_seconds", "Time between the last payload bytes of the first and of the last link to finish (Link Δ), once the run has ended; NaN until then."),
		size:       computed("mlget_download_size_bytes", "Size of the files together, as far as it is known."),
		remaining:  computed("mlget_download_remaining_bytes", "Bytes of these that are not there yet."),
		joules:     computed("mlget_energy_joules_total", "Energy that the device has drawn since the source's first reading, base power included.", "source"),
		covered:    computed("mlget_energy_covered_ratio", "Share of the time since the source's first reading that its readings tell of, 0 to 1.", "source"),
		begun:      computed("mlget_run_start_timestamp_seconds", "When the run began, in Unix time."),
		ended:      computed("mlget_run_end_timestamp_seconds", "When the run ended, in Unix time; missing until then."),
		exit:       computed("mlget_run_exit_code", "Exit status of the run, 0 where all is done; missing until it has ended."),
	}
}
