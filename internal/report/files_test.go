package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/event/eventtest"
	"github.com/mlget/mlget/pkg/scheduler"
)

// manyFiles is a run of so many small files, of which every tenth fails.
func manyFiles(b *Builder, n int) {
	b.Add(event.RunStarted{Version: "1", Started: eventtest.Started(), Links: []event.LinkInfo{{Name: "wlan0"}}})
	for i := range n {
		id, at := event.FileID(i), scheduler.Time(i+1)
		u := fmt.Sprintf("http://example.org/some/directory/of/some/depth/file-%08d.html", i)
		out := fmt.Sprintf("some/directory/file-%08d.html", i)
		b.Add(event.FileStarted{At: at, File: id, URL: u, Output: out})
		b.Add(event.RequestStarted{At: at, File: id, End: 1000})
		b.Add(event.ObjectKnown{At: at, File: id, EffectiveURL: strings.Clone(u), Size: 1000, HTTP: "1.1"})
		b.Add(event.RequestEnded{At: at, File: id, Bytes: 1000, Outcome: event.OutcomeDone, Sent: at, LastByte: at})
		end := event.FileEnded{At: at, File: id, Output: strings.Clone(out), Size: 1000}
		if i%10 == 9 {
			end.ExitCode, end.Error = 8, "404 Not Found"
		}
		b.Add(end)
	}
	b.Add(event.RunEnded{At: scheduler.Time(n + 1), ExitCode: 8, Error: "404 Not Found"})
}

// Files are written one by one, and what comes out is as if they were not.
func TestWriteJSONOfFiles(t *testing.T) {
	for _, n := range []int{0, 1, 2, 25} {
		var b Builder
		manyFiles(&b, n)
		r := b.Report()
		if n > 2 {
			r.Files[1].Error = "\",\n  \"files\": [\n    {\n    }\x1b[2J<&>"
			r.Tuning = []Tuning{{Link: "wlan0", Mode: "hat", Why: "so"}}
		}
		var got bytes.Buffer
		if err := r.WriteJSON(&got); err != nil {
			t.Fatal(err)
		}
		want, err := indented(r, "")
		if err != nil {
			t.Fatal(err)
		}
		if got.String() != string(want) {
			t.Errorf("%d files: got\n%s\nwant\n%s", n, got.String(), want)
		}
		var back Report
		if err := json.Unmarshal(got.Bytes(), &back); err != nil || len(back.Files) != n {
			t.Errorf("%d files, %v", len(back.Files), err)
		}
	}
}

// Of a hundred thousand files not a hundred megabytes are kept.
func TestMemoryOfManyFiles(t *testing.T) {
	const n = 20_000
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	b := &Builder{}
	manyFiles(b, n)
	each := (heap() - before) / n
	t.Logf("%d bytes a file", each)
	if each > 450 {
		t.Errorf("%d bytes are kept of each file", each)
	}
	r := b.Report()
	each = (heap() - before) / n
	t.Logf("%d bytes a file with its report", each)
	if each > 650 {
		t.Errorf("%d bytes are kept of each file with its report", each)
	}
	var size counter
	if err := r.WriteJSON(&size); err != nil {
		t.Fatal(err)
	}
	if size.most > 64<<10 || size.all < 100*n {
		t.Errorf("%d bytes are written, %d at once", size.all, size.most)
	}
	runtime.KeepAlive(b)
}

type counter struct{ all, most int }

func (c *counter) Write(p []byte) (int, error) {
	c.all += len(p)
	c.most = max(c.most, len(p))
	return len(p), nil
}

func TestTuning(t *testing.T) {
	var b Builder
	b.Add(event.RunStarted{Links: []event.LinkInfo{{Name: "wlan0"}}})
	var plan scheduler.Plan
	plan.Classes[0].Connections = 4
	b.Add(event.Tuned{At: 2 * scheduler.Second, Link: 0, Mode: "hat", Plan: plan, Why: "as it pleases"})
	b.Add(event.Tuned{At: 3 * scheduler.Second, Link: 7, Mode: "eht", Watts: 1.25, WattsSource: "battery"})
	got := b.Report().Tuning
	want := []Tuning{
		{AtSeconds: 2, Link: "wlan0", Mode: "hat", Plan: plan, Why: "as it pleases"},
		{AtSeconds: 3, Link: "link 7", Mode: "eht", Watts: 1.25, WattsSource: "battery"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for i := range 1000 {
		b.Add(event.Tuned{At: scheduler.Time(i) * scheduler.Second, Link: 0})
	}
	if got := b.Report().Tuning; len(got) != maxTuning || got[0].AtSeconds != 2 || got[maxTuning-1].AtSeconds != 999 {
		t.Errorf("%d changes", len(got))
	}
}

// TestRedirectsTakeLittleMemory: servers choose where they redirect to, and the report of
// many files does not keep it all. What it does not keep, it does not claim.
func TestRedirectsTakeLittleMemory(t *testing.T) {
	const files, length = 1000, 200 << 10
	var b Builder
	b.Add(event.RunStarted{Version: "1", Started: eventtest.Started(), Links: []event.LinkInfo{{Name: "wlan0"}}})
	for i := range files {
		id := event.FileID(i)
		b.Add(event.FileStarted{File: id, URL: fmt.Sprintf("http://example.org/%d", i)})
		to := fmt.Sprintf("http://example.org/%d?%s", i, strings.Repeat("q", length))
		for range 2 { // it starts over
			b.Add(event.ObjectKnown{File: id, EffectiveURL: to, Size: 1})
		}
	}
	kept, claimed := 0, 0
	for i, f := range b.Report().Files {
		kept += len(f.EffectiveURL)
		if f.EffectiveURL == "" {
			continue
		}
		claimed++
		if want := fmt.Sprintf("http://example.org/%d?%s", i, strings.Repeat("q", length)); f.EffectiveURL != want {
			t.Fatalf("file %d: %.60s", i, f.EffectiveURL)
		}
	}
	if kept > 80<<20 || claimed < 100 {
		t.Errorf("%d bytes of %d files are kept", kept, claimed)
	}
}
