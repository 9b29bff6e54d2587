package metrics

import (
	"maps"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/event/eventtest"
)

type names []string

func (n names) Name(id int) string {
	if id >= len(n) {
		return ""
	}
	return n[id]
}

type counts map[string]int

func (c counts) Count() map[string]int { return maps.Clone(c) }

// TestJobsTogether: many downloads at once make one page, whose sums are those of their events,
// although each numbers files from 0, and two programs of links number these differently.
func TestJobsTogether(t *testing.T) {
	r := New("1", "go1")
	r.ShowJobs(counts{"active": 1, "waiting": 3})
	links := []names{{"wlan0", "rmnet0", "usb0"}, {"rmnet0", "wlan0", "usb0"}}
	const jobs = 20
	var ended sync.WaitGroup
	received := map[string]float64{}
	for i := range jobs {
		of := links[i%2]
		var bus event.Bus
		sub := bus.Subscribe()
		ended.Go(func() { r.Follow(sub, of) })
		ended.Go(func() {
			for _, e := range eventtest.TwoLinks() {
				bus.Publish(e)
			}
			bus.Close()
		})
		for _, e := range eventtest.TwoLinks() {
			if e, ok := e.(event.RequestEnded); ok {
				received[of[e.Link]] += float64(e.Bytes)
			}
		}
	}
	ended.Wait()
	// One more is in the middle of it.
	var bus event.Bus
	begun := eventtest.TwoLinks()[:12]
	sample, ok := begun[11].(event.Sample)
	if !ok {
		t.Fatal("the last event is no sample")
	}
	sub := bus.Subscribe()
	ended.Go(func() { r.Follow(sub, links[1]) })
	for _, e := range begun {
		bus.Publish(e)
	}
	for i, l := range sample.Links {
		received[links[1][i]] += float64(l.Bytes)
	}
	for r.throughputOf("wlan0") == 0 { // until the sample has come
		runtime.Gosched()
	}
	families := gather(t, r)
	for name, want := range received {
		if got := value(t, families, "mlget_received_bytes_total", "link", name); got != want {
			t.Errorf("%s has received %v bytes, want %v", name, got, want)
		}
	}
	if got := value(t, families, "mlget_wasted_bytes_total", "link", "wlan0") + value(t, families, "mlget_wasted_bytes_total", "link", "rmnet0"); got != jobs*1e6 {
		t.Errorf("%v bytes are wasted", got)
	}
	for name, want := range map[string]float64{"mlget_download_size_bytes": float64(sample.Size), "mlget_download_remaining_bytes": float64(sample.Size - sample.Done)} {
		if got := value(t, families, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if got := value(t, families, "mlget_jobs", "state", "waiting"); got != 3 {
		t.Errorf("%v jobs wait", got)
	}
	if families["mlget_link_delta_seconds"] != nil {
		t.Error("a queue has a Link Δ")
	}
	bus.Close()
	ended.Wait()
	if r.throughputOf("wlan0") != 0 {
		t.Error("after the last download something is received")
	}
	if text := string(page(t, r, "")); strings.Contains(text, "object.bin") {
		t.Error("a file's name is in a label")
	}
}

// throughputOf is what a link receives now.
func (r *Run) throughputOf(name string) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now()[name].rate
}
