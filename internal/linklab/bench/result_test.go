package bench

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/results"
)

func testHeader(t *testing.T) Header {
	t.Helper()
	c := testConfig(t)
	return c.header(inventory{build: "abc", versions: []string{"mlget 1.0"}}, flags{seed: 5})
}

func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results")
	h := testHeader(t)
	j, err := results.Open[Header, Result](path, h)
	if err != nil || len(j.Results) != 0 {
		t.Fatalf("%v, %v", j, err)
	}
	delta := 0.25
	a := Result{Job: Job{"high-speed", "", Clear, "mlget-3", 0}, Bound: 5, Seconds: 6, LinkDelta: &delta, Links: []LinkResult{{"wlan0", 7, 5.5}}}
	b := Result{Job: Job{"high-speed", "", Clear, "axel", 0}, Bound: 5, Seconds: 20, Failure: "no end in 20 s"}
	if err := errors.Join(j.Add(a), j.Add(b), j.Close()); err != nil {
		t.Fatal(err)
	}
	// Interrupted in the middle of a line, and asked for more rounds later.
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, `{"scenario":"high-sp`...), 0o644); err != nil {
		t.Fatal(err)
	}
	h.Rounds += 2
	h.Date = h.Date.AddDate(0, 0, 1)
	j, err = results.Open[Header, Result](path, h)
	if err != nil || len(j.Results) != 2 {
		t.Fatalf("%v, %v", j, err)
	}
	old := j.Results
	if old[0].Job != a.Job || *old[0].LinkDelta != delta || old[0].Links[0] != a.Links[0] || old[1].Failure != b.Failure || old[1].LinkDelta != nil {
		t.Errorf("%+v", old)
	}
	if err := errors.Join(j.Add(Result{Job: Job{"high-speed", "", Clear, "axel", 1}, Seconds: 3}), j.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(again, whole) || bytes.Count(again, []byte("\n")) != 4 || bytes.Contains(again, []byte(`"high-sp{`)) {
		t.Errorf("%s", again)
	}
}

func TestJournalRefusesOtherResults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results")
	h := testHeader(t)
	j, err := results.Open[Header, Result](path, h)
	if err == nil {
		err = j.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Header){
		"another build": func(h *Header) { h.Build = "def" },
		"another size":  func(h *Header) { h.Size++ },
		"another seed":  func(h *Header) { h.Seed++ },
		"other tools":   func(h *Header) { h.Tools = h.Tools[1:] },
		"TLS":           func(h *Header) { h.TLS = !h.TLS },
	} {
		o := h
		change(&o)
		if _, err := results.Open[Header, Result](path, o); !errors.Is(err, results.ErrOther) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.WriteFile(path, []byte("Dear diary,\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := results.Open[Header, Result](path, h); !errors.Is(err, results.ErrFormat) {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "Dear diary,\n" {
		t.Errorf("a foreign file was changed: %q, %v", text, err)
	}
}

// TestChangedScenarioIsAnother changes a scenario that is a file.
func TestChangedScenarioIsAnother(t *testing.T) {
	name := filepath.Join(t.TempDir(), "own.txt")
	header := func(text string) Header {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		c := testConfig(t)
		c.Scenarios = []string{loopback, "lossy", name}
		return c.header(inventory{}, flags{})
	}
	path := filepath.Join(t.TempDir(), "results")
	for _, tc := range []struct {
		text string
		want error
	}{
		{"link a,down=80\nat 1s a down", nil},
		{"# a remark\nabout It.\nlink a,down=80,queue=100\nat 1000ms a down", nil},
		{"link a,down=8\nat 1s a down", results.ErrOther},
		{"link a,down=80\nat 2s a down", results.ErrOther},
	} {
		j, err := results.Open[Header, Result](path, header(tc.text))
		if !errors.Is(err, tc.want) {
			t.Errorf("%q: %v", tc.text, err)
		}
		if err == nil {
			err = j.Close()
		}
		if err != nil && tc.want == nil {
			t.Fatal(err)
		}
	}
	if h := header("link a,down=80"); len(h.Digests) != 1 || h.Digests[name] == "" {
		t.Errorf("digests %v", h.Digests)
	}
}

const (
	headerLine = `{"bench":1,"runs":2,"size_bytes":100}` + "\n"
	resultLine = `{"scenario":"lossy","transport":"http","tool":"axel","round":0,"seconds":1}` + "\n"
)

func TestReadResults(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int // results; < 0: refused
	}{
		{headerLine, 0},
		{headerLine + resultLine + resultLine, 2},
		{headerLine + resultLine + resultLine[:20], 1},
		{"", -1},
		{headerLine[:len(headerLine)-1], -1},
		{resultLine, -1},
		{headerLine + headerLine, -1},
		{headerLine + "{}\n", -1},
		{headerLine + strings.Replace(resultLine, ":1}", ":-1}", 1), -1},
		{headerLine + strings.Replace(resultLine, ":1}", ":0}", 1), -1},
		{headerLine + strings.Replace(resultLine, ":1}", ":1e7}", 1), -1},
		{headerLine + strings.Replace(resultLine, ":1}", `:1,"link_delta_seconds":-1}`, 1), -1},
		{headerLine + strings.Replace(resultLine, "\n", "{}\n", 1), -1},
		{headerLine + strings.Replace(resultLine, ":1}", `:1,"energy":{"links":[{"dynamic_joules":-1e-12}]}}`, 1), 1},
		{headerLine + strings.Replace(resultLine, ":1}", `:1,"energy":{"links":[{"dynamic_joules":-1}]}}`, 1), -1},
		{headerLine + strings.Replace(resultLine, ":1}", `:1,"energy":{"total":{"tail_joules":1e7}}}`, 1), -1},
		{headerLine + strings.Replace(resultLine, ":1}", `:1,"energy":{"watts":1}}`, 1), -1},
		{strings.Replace(headerLine, ":1,", ":2,", 1), -1},
		{strings.Repeat(" ", results.LongestLine) + headerLine, -1},
	} {
		_, done, n, err := results.Read[Header, Result](strings.NewReader(c.text))
		if c.n < 0 {
			if !errors.Is(err, results.ErrFormat) {
				t.Errorf("%.60q: %v, %v", c.text, done, err)
			}
			continue
		}
		if err != nil || len(done) != c.n || n != int64(strings.LastIndexByte(c.text, '\n')+1) {
			t.Errorf("%.60q: %v, %d, %v", c.text, done, n, err)
		}
	}
}

func FuzzReadResults(f *testing.F) {
	for _, text := range []string{headerLine, headerLine + resultLine, headerLine + resultLine[:9], "{}\n", "\n", headerLine + "null\n"} {
		f.Add([]byte(text))
	}
	for _, name := range []string{"testdata/results.jsonl", "testdata/energy.jsonl"} {
		golden, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(golden)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		h, done, n, err := results.Read[Header, Result](bytes.NewReader(text))
		if err != nil {
			return
		}
		if n < 1 || n > int64(len(text)) || text[n-1] != '\n' {
			t.Errorf("%d bytes of %q", n, text)
		}
		if h.Rounds > 20 || len(h.Scenarios) > 20 || len(h.Tools) > 20 {
			return // a report on such a plan would take long
		}
		if report := Report(h, done); strings.Contains(report, "NaN") && !bytes.Contains(text, []byte("NaN")) || strings.Contains(report, "| +Inf") {
			t.Errorf("%s", report)
		}
	})
}

func TestParseOwn(t *testing.T) {
	o, err := parseOwn([]byte(`{"schema":1,"link_delta_seconds":0.25,"wasted_bytes":9}`))
	if err != nil || *o.LinkDelta != 0.25 || *o.WastedBytes != 9 {
		t.Errorf("%v, %v", o, err)
	}
	for _, text := range []string{"", "[]", `{"link_delta_seconds":-1}`, `{"link_delta_seconds":"1"}`, `{"wasted_bytes":-1}`, `{"link_delta_seconds":1e300}`} {
		if o, err := parseOwn([]byte(text)); err == nil {
			t.Errorf("%s: %v", text, o)
		}
	}
}

func FuzzParseOwn(f *testing.F) {
	f.Add([]byte(`{"link_delta_seconds":0.25,"wasted_bytes":9}`))
	f.Add([]byte(`{"link_delta_seconds":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := parseOwn(text)
		if err != nil {
			return
		}
		r := Result{Job: Job{"a", "", Clear, "b", 0}, Seconds: 1, OwnLinkDelta: o.LinkDelta, OwnWaste: o.WastedBytes}
		if err := r.Check(); err != nil {
			t.Errorf("%q makes a result that cannot be read again: %v", text, err)
		}
	})
}
