package scenario

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestParseLink(t *testing.T) {
	files := fstest.MapFS{"t.txt": {Data: []byte("1\n2\n2\n4\n")}}
	for _, tc := range []struct {
		text string
		want Link // Trace is compared by its mean
	}{
		{"wlan0,down=82", Link{Name: "wlan0", DownMbps: 82}},
		{"wlan0,down=82,rtt=16", Link{Name: "wlan0", DownMbps: 82, RTT: 16 * time.Millisecond}},
		{
			"a,down=1,up=2,rtt=0.5,queue=20,loss=0.05,ramp=2.5,ramp0=0.1,vary=1",
			Link{
				Name: "a", DownMbps: 1, UpMbps: 2, RTT: 500 * time.Microsecond, Queue: 20 * time.Millisecond,
				LossPercent: 0.05, Ramp: 2500 * time.Millisecond, Ramp0: 0.1, Vary: 1,
			},
		},
		{"v4-rmnet_data0, down=1, rtt=3", Link{Name: "v4-rmnet_data0", DownMbps: 1, RTT: 3 * time.Millisecond}},
		{"a,down=1,power=lte", Link{Name: "a", DownMbps: 1, Power: "lte"}},
		{"a,down=1,perconn=62,power=lte", Link{Name: "a", DownMbps: 1, Power: "lte", PerConnection: 62}},
	} {
		got, err := ParseLink(tc.text, files)
		if err != nil || got != tc.want {
			t.Errorf("ParseLink(%q) = %+v, %v", tc.text, got, err)
		}
	}
	l, err := ParseLink("a,trace=t.txt", files)
	if err != nil || l.Trace == nil || l.Trace.MeanMbps() != 12 {
		t.Errorf("with a trace: %+v, %v", l, err)
	}
}

func TestParseLinkErrors(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "needs a name"},
		{"lo,down=1", "not a possible device name"},
		{"averyverylongname,down=1", "not a possible device name"},
		{"a/b,down=1", "a device name takes"},
		{"wlan0", "needs down="},
		{"wlan0,rtt=3", "needs down="},
		{"wlan0,down", "key=value"},
		{"wlan0,down=x", "not a number"},
		{"wlan0,down=NaN", "not a number"},
		{"wlan0,down=0", "must be within"},
		{"wlan0,down=-1", "must be within"},
		{"wlan0,down=1e9", "must be within"},
		{"wlan0,down=1,down=2", "given twice"},
		{"wlan0,down=1,up=0", "must be within"},
		{"wlan0,down=1,rtt=1e300", "must be within"},
		{"wlan0,down=1,queue=0", "must be within"},
		{"wlan0,down=1,loss=101", "must be within"},
		{"wlan0,down=1,ramp0=0", "must be within"},
		{"wlan0,down=1,vary=1.5", "must be within"},
		{"wlan0,down=1,colour=red", "the keys are"},
		{"wlan0,down=1,power=steam", "the models are wifi, lte, "},
		{"wlan0,down=1,power=lte,perconn=-1", "must be within"},
		{"wlan0,down=1,perconn=62", "perconn needs power="},
		{"wlan0,trace=none", "does not exist"},
	} {
		_, err := ParseLink(tc.text, fstest.MapFS{})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("ParseLink(%q): %v, want %q", tc.text, err, tc.want)
		}
	}
}

func TestParse(t *testing.T) {
	s, err := Parse("x", strings.NewReader(`
# a comment
about Two links. # and another
link a,down=10,rtt=100
link b,down=20
at 6s a down
at 1.5s b rate 2
at 7s a carrier off
at 7s b loss 3
at 8s b rtt 5
at 9s a up
at 9s a carrier on
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Event{
		{1500 * time.Millisecond, "b", Rate, 2},
		{6 * time.Second, "a", Down, 0},
		{7 * time.Second, "a", CarrierOff, 0},
		{7 * time.Second, "b", Loss, 3},
		{8 * time.Second, "b", RTT, 5},
		{9 * time.Second, "a", Up, 0},
		{9 * time.Second, "a", CarrierOn, 0},
	}
	if !reflect.DeepEqual(s.Events, want) {
		t.Errorf("events %+v", s.Events)
	}
	if s.About != "Two links." || len(s.Links) != 2 {
		t.Errorf("parsed %+v", s)
	}
	a := Link{
		Name: "a", DownMbps: 10, UpMbps: 10, RTT: 100 * time.Millisecond,
		Queue: 150 * time.Millisecond, Ramp0: DefaultRamp0,
	}
	if s.Links[0] != a {
		t.Errorf("the defaults make %+v", s.Links[0])
	}
}

func manyLinks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "link a%d,down=1\n", i)
	}
	return b.String()
}

func TestParseErrors(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "at least one link"},
		{"link a,down=1\nlonk b", `line 2: "lonk"`},
		{"link a,down=1\nlink a,down=2", "line 2: link a: named twice"},
		{"link a,down=1\nat 6 a down", "line 2: time \"6\""},
		{"\nat 6s b down\nlink a,down=1", `line 2: event: no link named "b"`},
		{"at 1s a up\nat -6s a down\nlink a,down=1", "line 2: event of a: time -6s: must be within"},
		{"link a,down=1\nat 6s a", "line 2: event"},
		{"link a,down=1\nat 6s a down 3", "takes no value"},
		{"link a,down=1\nat 6s a rate", "takes one number"},
		{"link a,down=1\n\nat 6s a rate 0", "line 3: event of a: rate=0: must be within"},
		{"link a,down=1\nat 6s a loss 200", "must be within"},
		{"link a,down=1\nat 6s a rtt -1", "must be within"},
		{"link a,down=1\nat 6s a rate fast", "not a number"},
		{"link a,down=1\nat 6s a carrier", "carrier is on or off"},
		{"link a,down=1\nat 6s a explode", "is not down, up"},
		{"link a,trace=x", "no traces can be read here"},
		{manyLinks(17), "more than 16 links"},
		{"link a,down=1\n" + strings.Repeat("at 1s a up\n", 1001), "more than 1000 events"},
		{"#" + strings.Repeat("x", maxFile), "larger than"},
	} {
		_, err := Parse("x", strings.NewReader(tc.text), nil)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Parse(%.40q): %v, want %q", tc.text, err, tc.want)
		}
	}
}

// TestParseOther: what is no scenario may be one long line, which nobody wants to read.
func TestParseOther(t *testing.T) {
	_, err := Parse("page.html", strings.NewReader(strings.Repeat("x", maxFile)), nil)
	if err == nil || len(err.Error()) > 200 {
		t.Errorf("an error of %d characters", len(fmt.Sprint(err)))
	}
}

func TestBuiltinScenarios(t *testing.T) {
	names := Names()
	want := []string{
		"always-online", "high-speed", "high-speed-s6", "long-fat", "lossy", "low-speed",
		"lte-dies-and-returns", "techno-moving", "techno-stationary", "wifi-dies", "wifi-joins", "wifi-sags",
	}
	got := map[string]bool{}
	for _, n := range names {
		got[n] = true
	}
	for _, n := range want {
		if !got[n] {
			t.Errorf("no scenario %s", n)
			continue
		}
		s, err := Load(n)
		if err != nil {
			t.Error(err)
			continue
		}
		if s.About == "" || len(s.Links) != 2 || s.Links[0].Name != "wlan0" || s.Links[1].Name != "rmnet0" {
			t.Errorf("%s: %+v", n, s)
		}
	}
	files := FilesNames()
	for _, place := range []string{"sydney", "frankfurt", "austin"} {
		for suffix, links := range map[string]int{"": 1, "-lte": 1, "-dual": 2} {
			s, err := Load(place + suffix)
			if err != nil || len(s.Links) != links || s.About == "" || !slices.Contains(files, place+suffix) {
				t.Errorf("%s: %+v, %v", place+suffix, s, err)
			}
		}
	}
	for _, n := range slices.Concat(names, files) {
		s, err := Load(n)
		if err != nil {
			t.Error(err)
		}
		for _, l := range s.Links {
			if l.Power == "" {
				t.Errorf("%s: %s costs no energy", n, l.Name)
			}
		}
	}
	if _, err := Load("hihg-speed"); err == nil || !strings.Contains(err.Error(), "there are always-online") {
		t.Errorf("a wrong name: %v", err)
	}
	if _, err := Text("files/sydney"); err == nil {
		t.Error("a name is a path")
	}
	if _, err := Load("./none.txt"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestLoadFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "mine.txt")
	for path, text := range map[string]string{
		name:                              "link a,trace=sub/t.trace,rtt=5\nat 1s a down\n",
		filepath.Join(dir, "sub/t.trace"): "1\n2\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "mine.txt" || len(s.Events) != 1 || s.Links[0].Trace == nil || s.Links[0].DownMbps != 12 {
		t.Errorf("loaded %+v", s)
	}
}

func TestTrace(t *testing.T) {
	for _, tc := range []struct {
		text, err string
		mbps      float64
		period    time.Duration
	}{
		{"1\n2\n3\n", "", 12, 3 * time.Millisecond},
		{"0\n10\n\n10\n", "", 3.6, 10 * time.Millisecond},
		{"", "above 0 ms", 0, 0},
		{"0\n0\n", "above 0 ms", 0, 0},
		{"2\n1\n", "line 2: 1 ms comes before 2 ms", 0, 0},
		{"-1\n", "line 1", 0, 0},
		{"1.5\n", "line 1", 0, 0},
		{"99999999\n", "at most", 0, 0},
		{strings.Repeat("1\n", 60001), "in one ms", 0, 0},
		{strings.Repeat("1", 1<<17), "too long", 0, 0},
	} {
		tr, err := ParseTrace(strings.NewReader(tc.text))
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("trace %.20q: %v, want %q", tc.text, err, tc.err)
			}
			continue
		}
		if err != nil || tr.Period() != tc.period || tr.MeanMbps() != tc.mbps {
			t.Errorf("trace %q: %+v, %v", tc.text, tr, err)
		}
	}
}

// FuzzParse: whatever is read is complete, and is read the same when written.
func FuzzParse(f *testing.F) {
	for _, n := range Names() {
		text, err := Text(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add("link a,down=1\nat 1s a carrier off\nat 2s a rtt 5")
	f.Add("link a,trace=t")
	f.Add("link a,down=1,power=lte\nlink b,down=1,power=")
	f.Add("link a,down=1\nat 0s a gone\nat 2s a back")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("x", strings.NewReader(text), nil)
		if err != nil {
			return
		}
		again, err := Parse("x", strings.NewReader(written(s)), nil)
		if err != nil {
			t.Fatalf("%v in\n%s", err, written(s))
		}
		if !reflect.DeepEqual(s, again) {
			t.Fatalf("%+v\n%+v", s, again)
		}
	})
}

// FuzzTrace: a trace that is accepted gives rates that end.
func FuzzTrace(f *testing.F) {
	f.Add("1\n2\n3\n")
	f.Add("0\n5\n5\n900\n")
	f.Fuzz(func(t *testing.T, text string) {
		tr, err := ParseTrace(strings.NewReader(text))
		if err != nil {
			return
		}
		l := Link{Name: "a", Trace: tr}
		s, err := Scenario{Links: []Link{l}}.Complete()
		if err != nil {
			return // slower or faster than a link may be
		}
		p := NewProcess(s, 0, 1)
		end := p.Finish(0, 0, 12000)
		if end <= 0 || end > 2*MaxAt {
			t.Fatalf("a packet takes %v", end)
		}
	})
}

// written is a scenario as Parse reads it, without traces.
func written(s Scenario) string {
	var b strings.Builder
	if s.About != "" {
		b.WriteString("about " + s.About + "\n")
	}
	for _, l := range s.Links {
		b.WriteString("link " + l.String() + "\n")
	}
	for _, e := range s.Events {
		b.WriteString("at " + e.At.Round(time.Nanosecond).String() + " " + e.String() + "\n")
	}
	return b.String()
}

func TestDigestSeesTraces(t *testing.T) {
	digest := func(trace string) string {
		files := fstest.MapFS{"t": {Data: []byte(trace)}}
		s, err := Parse("x", strings.NewReader("link a,down=5,trace=t"), files)
		if err != nil {
			t.Fatal(err)
		}
		return s.Digest()
	}
	if a, b := digest("1\n5\n"), digest("2\n5\n"); a == b || a != digest("1\n5\n") {
		t.Errorf("%s, %s", a, b)
	}
}
