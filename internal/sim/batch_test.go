package sim

import (
	"reflect"
	"testing"

	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/pkg/scheduler/tuning"
)

// filesOver is a job of many files over the links of a text.
func filesOver(t *testing.T, text string, b Batch) Config {
	t.Helper()
	cfg := Default(parse(t, text), "3")
	cfg.Batch = &b
	cfg.Size = b.Bytes()
	return cfg
}

func same(n int, bytes int64) []int64 {
	files := make([]int64, n)
	for i := range files {
		files[i] = bytes
	}
	return files
}

func mustRunBatch(t *testing.T, cfg Config) Result {
	t.Helper()
	res, err := RunWithBound(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := check(cfg, res, res.BoundSeconds); err != nil {
		t.Fatal(err)
	}
	return res
}

// One file after the other, by hand: each takes a round trip and its bytes, as long
// as its connection's window is wider than the file.
func TestFilesOneByOne(t *testing.T) {
	const n, size, rtt = 20, 10000, 0.1
	cfg := filesOver(t, "link a,down=8,rtt=100", Batch{Files: same(n, size), Tuning: tuning.Config{Mode: tuning.Manual}})
	res := mustRunBatch(t, cfg)
	want := rtt + n*(rtt+(size+headerBytes)/payload(8))
	if d := res.Seconds/want - 1; d < -0.01 || d > 0.01 {
		t.Errorf("%.3f s, want %.3f", res.Seconds, want)
	}
	if res.Requests != n || res.Links[0].Connections != 1 {
		t.Errorf("%d requests over %d connections", res.Requests, res.Links[0].Connections)
	}
	cfg.Batch.Tuning.Concurrency = 4
	if four := mustRunBatch(t, cfg); four.Seconds > 0.4*res.Seconds || four.Links[0].Connections != 4 {
		t.Errorf("four at once: %.3f s over %d connections", four.Seconds, four.Links[0].Connections)
	}
}

// A connection brings its buffer in a round trip, and no more.
func TestReceiveBuffer(t *testing.T) {
	cfg := filesOver(t, "link a,down=80,rtt=100", Batch{Files: same(1, 20e6), Tuning: tuning.Config{Mode: tuning.Manual}})
	cfg.Receive = 100_000
	res := mustRunBatch(t, cfg)
	if want := 20e6 / (100_000 / 0.1); res.Seconds < want || res.Seconds > 1.1*want {
		t.Errorf("%.2f s, want a little more than %.2f", res.Seconds, want)
	}
}

// Sizes are learnt or known, larger or smaller than the guess, and nothing changes
// but the first round trips.
func TestFileSizes(t *testing.T) {
	files := []int64{1, 500, guess - 1, guess, guess + 1, 3 * guess, 100, 7_000_000}
	for _, known := range []bool{false, true} {
		for _, http2 := range []bool{false, true} {
			cfg := filesOver(t, "link a,down=40,rtt=30\nlink b,down=20,rtt=60", Batch{Files: files, Known: known})
			cfg.HTTP2 = http2
			if res := mustRunBatch(t, cfg); res.Efficiency < 0.8 || res.Batch.Files != len(files) {
				t.Errorf("known %v, HTTP/2 %v: %.3f of the bound", known, http2, res.Efficiency)
			}
		}
	}
}

// A job survives the death of a link, in every mode.
func TestFilesLinkDies(t *testing.T) {
	for _, mode := range []tuning.Mode{tuning.HAT, tuning.EHT, tuning.LowE, tuning.Manual} {
		cfg := filesOver(t, "link a,down=40,rtt=30\nlink b,down=40,rtt=60\nat 3s b down",
			Batch{Files: same(400, 100_000), Tuning: tuning.Config{Mode: mode, Concurrency: 8}})
		res := mustRunBatch(t, cfg)
		// HAT plans nothing for a job of less than 8 s.
		if len(res.Batch.Changes) < 2 && mode != tuning.HAT || res.Batch.Mode != mode.String() {
			t.Errorf("%v: %+v", mode, res.Batch)
		}
	}
}

// The same job gives the same result.
func TestFilesAgain(t *testing.T) {
	run := func() (Result, recorder) {
		var rec recorder
		cfg := RandomFiles(11)
		cfg.Observer = &rec
		return mustRunBatch(t, cfg), rec
	}
	a, first := run()
	b, second := run()
	if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(first, second) {
		t.Error("the same job came out otherwise")
	}
}

func TestBatchMistakes(t *testing.T) {
	ok := Batch{Files: same(2, 10)}
	for name, spoil := range map[string]func(*Config){
		"no files":         func(c *Config) { c.Batch.Files, c.Size = nil, 1 },
		"an empty file":    func(c *Config) { c.Batch.Files, c.Size = []int64{0, 20}, 20 },
		"another size":     func(c *Config) { c.Size = 3 },
		"no such mode":     func(c *Config) { c.Batch.Tuning.Mode = 9 },
		"a negative bound": func(c *Config) { c.Receive = -1 },
	} {
		b := ok
		cfg := Default(scenario.Scenario{Name: "x", Links: []scenario.Link{{Name: "a", DownMbps: 1}}}, "3")
		cfg.Batch, cfg.Size = &b, b.Bytes()
		if err := cfg.Validate(); err != nil {
			t.Fatal(err)
		}
		spoil(&cfg)
		if err := cfg.Validate(); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
