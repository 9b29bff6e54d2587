package bench

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/linklab/scenario"
)

func TestParseFilesTool(t *testing.T) {
	for name, want := range map[string]Tool{
		"mlget":       {Family: Mlget},
		"mlget-eht":   {Family: Mlget, Variant: "eht"},
		"mlget-j16":   {Family: Mlget, Variant: "j16"},
		"mlget-j16p4": {Family: Mlget, Variant: "j16p4"},
		"wget":        {Family: Wget},
		"wget2-5":     {Family: Wget2, Variant: "5"},
		"curl":        {Family: Curl},
		"curlz-50":    {Family: Curl, Variant: "50"},
		"aria2-64":    {Family: Aria2, Variant: "64"},
		"aria2-16x4":  {Family: Aria2, Variant: "16x4"},
	} {
		want.Name, want.Many = name, true
		if got, err := ParseFilesTool(name); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, name := range []string{
		"", "mlget-", "mlget-3", "mlget-j", "mlget-j0", "mlget-j1000", "wget-2", "wget2", "curlz", "curl-wlan0", "aria2", "aria2-16x17",
		"aria2-99999999999999999999", "aria2-16x", "mlget-hat\n", "xmlget",
	} {
		if got, err := ParseFilesTool(name); err == nil {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

func TestArgsOfManyFiles(t *testing.T) {
	links := []scenario.Link{{Name: "wlan0"}, {Name: "rmnet0"}}
	for name, want := range map[string]string{
		"mlget":       "--links wlan0,rmnet0 --quiet --report report.json -P out -i list --energy-model model --cacert ca",
		"mlget-eht":   "--links wlan0,rmnet0 --quiet --report report.json -P out -i list --energy-model model --mode eht --cacert ca",
		"mlget-j16p4": "--links wlan0,rmnet0 --quiet --report report.json -P out -i list --energy-model model --mode manual -j 16 -p 4 --cacert ca",
		"aria2-32": "--no-conf --quiet -j32 -x1 -s1 --min-split-size=1M --file-allocation=none -d out -i list" +
			" --multiple-interface=wlan0,rmnet0 --ca-certificate=ca",
		"curlz-50": "-q -sS --no-progress-meter -f --remote-name-all --create-dirs --output-dir out -K urls.curl -Z --parallel-max 50 --http2 --cacert ca",
		"curl":     "-q -sS --no-progress-meter -f --remote-name-all --create-dirs --output-dir out -K urls.curl --http2 --cacert ca",
		"wget2-5":  "--no-config -q --max-threads=5 -P out -i list --ca-certificate=ca",
		"wget":     "--no-config -q -P out -i list --ca-certificate=ca",
	} {
		tool, err := ParseFilesTool(name)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(tool.args(Request{URL: "url", List: "list", Model: "model", CA: "ca", Transport: TLS2, Links: links}), " ")
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// Every set runs in every scenario, and a session goes on where it stopped.
func TestPlanOfManyFiles(t *testing.T) {
	c, err := flags{files: []string{"html/600", "video/4"}, tools: []string{"mlget", "wget"}, runs: 2}.config()
	if err != nil {
		t.Fatal(err)
	}
	jobs := c.Plan()
	if len(jobs) != 2*2*2*2 {
		t.Fatalf("%d jobs", len(jobs))
	}
	for i, j := range jobs {
		if slices.Contains(jobs[:i], j) || j.Files == "" || c.bytes(j) == 0 {
			t.Errorf("%+v", j)
		}
	}
	probable, most, err := c.Estimate(jobs)
	if err != nil || probable < 4*600*290e6 || most < probable {
		t.Errorf("%v, %v, %v", probable, most, err)
	}
	for _, f := range []flags{
		{files: []string{"none"}},
		{files: []string{"html", "html"}},
		{files: []string{"html"}, scenarios: []string{loopback}},
		{files: []string{"html"}, tools: []string{"axel"}},
	} {
		if c, err := f.config(); err == nil {
			t.Errorf("%+v: %+v", f, c)
		}
	}
	h := c.header(inventory{}, flags{})
	if got := h.config().Plan(); !slices.Equal(got, jobs) {
		t.Error("the header makes another plan")
	}
}

func TestReportOfManyFiles(t *testing.T) {
	h := Header{Schema: schema, Options: Options{Scenarios: []string{"sydney"}, Files: []string{"html/600"}, Rounds: 2, Size: 1}, Tools: []string{"mlget", "wget"}}
	var results []Result
	for round := range 2 {
		for tool, seconds := range map[string]float64{"mlget": 11, "wget": 187} {
			r := Result{Job: Job{"sydney", "html/600", Clear, tool, round}, Bound: 10.8, Seconds: seconds, Connections: 12}
			r.Energy = &linklab.Energy{Total: linklab.Joules{Dynamic: seconds}}
			results = append(results, r)
		}
	}
	results[0].Failure = "of 600 files 3 missing, 0 wrong"
	text := Report(h, results)
	for _, want := range []string{
		"### Beside the paper", "| html/600 | 2.6 |", "### html/600, sydney", "| 17.0 | 1.00 |", "| -94 % | 5.20 | 12 |", "(1 of 2)", "94 %",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestSplice(t *testing.T) {
	doc := "# A\n\n" + spliceBegin + "old\n" + spliceEnd + "\nb\n"
	if got := splice(doc, "new\n"); got != "# A\n\n"+spliceBegin+"new\n"+spliceEnd+"\nb\n" {
		t.Errorf("%q", got)
	}
	for _, doc := range []string{"", "plain\n", spliceBegin + "no end\n", spliceEnd + spliceBegin} {
		if got := splice(doc, "new\n"); got != "new\n" {
			t.Errorf("%q: %q", doc, got)
		}
	}
	path := filepath.Join(t.TempDir(), "x.md")
	if err := spliceFile(path, "a\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "a\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestSpliceKeepsTheOldUntilTheNewIsThere sees by a second name that nobody writes into
// the old file; what is no file has no other way.
func TestSpliceKeepsTheOldUntilTheNewIsThere(t *testing.T) {
	dir := t.TempDir()
	path, same, link := filepath.Join(dir, "x.md"), filepath.Join(dir, "same"), filepath.Join(dir, "link")
	const doc = "by hand\n" + spliceBegin + spliceEnd
	if err := errors.Join(os.WriteFile(path, []byte(doc), 0o640), os.Link(path, same), os.Symlink(same, link)); err != nil {
		t.Fatal(err)
	}
	if err := spliceFile(path, "new\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(same); err != nil || string(text) != doc {
		t.Errorf("the old file has become %q, %v", text, err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "by hand\n"+spliceBegin+"new\n"+spliceEnd {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := spliceFile(link, "new\n"); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != same {
		t.Errorf("the link is %q, %v", to, err)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 3 {
		t.Errorf("%v, %v", all, err)
	}
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestReportIsWrittenWhereItCanBe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.md")
	if err := writeReport(testHeader(t), nil, fullDisk{}, path); !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || len(text) == 0 {
		t.Errorf("%q, %v", text, err)
	}
}

func FuzzParseFilesTool(f *testing.F) {
	for _, name := range []string{"mlget-eht", "mlget-j16p4", "aria2-16x4", "curlz-50", "wget2-5", "wget; rm"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		tool, err := ParseFilesTool(name)
		if err != nil {
			return
		}
		// Whatever was asked for, no argument is other than a flag, a number or ours.
		for _, a := range tool.args(Request{URL: "http://u/", List: "list", Transport: Clear, Links: []scenario.Link{{Name: "a"}}}) {
			if strings.ContainsAny(a, " \n;$`") {
				t.Errorf("%q becomes %q", name, a)
			}
		}
		if len(tool.numbers()) > 2 || tool.program() == "" {
			t.Errorf("%q: %+v", name, tool)
		}
	})
}
