package faults

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const outName = "0.bin"

const helloHash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" // of hello

func TestCheckSeesWhatIsWrong(t *testing.T) {
	const message = "mlget: http://a/b: connection closed early\n"
	for _, c := range []struct {
		name  string
		run   ran
		files map[string]string
		codes []int
		want  string // the beginning
		wrong bool
	}{
		{"the file", ran{}, map[string]string{outName: "hello"}, nil, "", false},
		{"an error", ran{code: 4, report: report{ExitCode: 4}, stderr: []byte(message)}, map[string]string{outName + ".part": "he"}, []int{4}, "", false},
		{
			"an error with a hint",
			ran{code: 4, report: report{ExitCode: 4}, stderr: []byte(message + "mlget: hint: again\n")},
			nil,
			[]int{4},
			"", false,
		},
		{"wrong bytes", ran{}, map[string]string{outName: "hallo"}, nil, "wrong bytes", true},
		{"wrong bytes and an error", ran{code: 4}, map[string]string{outName: "hallo"}, []int{4}, "wrong bytes", true},
		{"an error and the file", ran{code: 4}, map[string]string{outName: "hello"}, []int{4}, "exit 4 with every file", false},
		{"no file", ran{}, nil, nil, "exit 0 with 0 of 1", false},
		{"hung", ran{hung: true}, nil, []int{4}, "hung", false},
		{"another code", ran{code: 1, stderr: []byte("mlget: what?")}, nil, []int{4}, "exit 1, which", false},
		{"another code in the report", ran{code: 4, stderr: []byte(message)}, nil, []int{4}, "exit 4, but", false},
		{"a descriptor", ran{leaks: []string{"socket"}}, map[string]string{outName: "hello"}, nil, "1 left over", false},
		{"a part", ran{}, map[string]string{outName: "hello", outName + ".part.json": "{}"}, nil, "left behind", false},
		{"no message", ran{code: 4, report: report{ExitCode: 4}}, nil, []int{4}, "no clear error", false},
		{"a panic", ran{code: 4, report: report{ExitCode: 4}, stderr: []byte("panic: x\n\ngoroutine 1")}, nil, []int{4}, "no clear", false},
		{"two lines", ran{code: 4, report: report{ExitCode: 4}, stderr: []byte(message + message)}, nil, []int{4}, "error of 2", false},
		{"an escape", ran{code: 4, report: report{ExitCode: 4}, stderr: []byte("mlget: a \x1b[2J\n")}, nil, []int{4}, "error with control", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			why, wrong := check(c.run, dir, c.codes, wanted{outName: {helloHash}})
			if !strings.HasPrefix(why, c.want) || (why == "") != (c.want == "") || wrong != c.wrong {
				t.Errorf("%q, wrong %v", why, wrong)
			}
		})
	}
}

func TestLeakedGoroutines(t *testing.T) {
	const dump = `SIGQUIT: quit
PC=0x47 m=0 sigcode=0

goroutine 1 gp=0x1 m=nil [select]:
github.com/mlget/mlget/internal/cli.(*metricsWatch).finish(0x0)
	/x/metrics.go:155 +0x1
main.main()

goroutine 18 gp=0x2 m=nil [chan receive]:
github.com/mlget/mlget/internal/fetch.(*h2Conn).read(0xc000)
	/x/h2conn.go:1 +0x2
created by github.com/mlget/mlget/internal/fetch.dial in goroutine 4
`
	if got := leakedGoroutines([]byte(dump)); !slices.Equal(got, []string{"goroutine in mlget/internal/fetch.(*h2Conn).read"}) {
		t.Errorf("%q", got)
	}
}

func TestReadReportWaitsForTheWhole(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		text string
		ok   bool
	}{{`{"exit_code": 4, "resumed_`, false}, {`{"exit_code": 4, "resumed_bytes": 7}`, true}} {
		if err := os.WriteFile(filepath.Join(dir, reportName), []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		r, ok := readReport(dir)
		if ok != c.ok || ok && (r.ExitCode != 4 || r.Resumed != 7) {
			t.Errorf("%s: %+v, %v", c.text, r, ok)
		}
	}
}
