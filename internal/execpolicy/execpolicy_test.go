package execpolicy

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.uber.org/goleak"

	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/schematest"
	"github.com/mlget/mlget/internal/sim"
	"github.com/mlget/mlget/pkg/scheduler"
)

// actAs is the environment variable that makes this test's program one that answers.
const actAs = "MLGET_TEST_EXECPOLICY"

func TestMain(m *testing.M) {
	if role := os.Getenv(actAs); role != "" {
		act(role)
		return
	}
	goleak.VerifyTestMain(m)
}

// act is a program that answers 1 MiB to everything, but for what its role says.
func act(role string) {
	if role == "silent" {
		time.Sleep(time.Hour)
	}
	in := bufio.NewScanner(os.Stdin)
	say := func(line string) { _, _ = io.WriteString(os.Stdout, line+"\n") } // nobody may be there to hear it
	for n := 0; in.Scan(); n++ {
		var id int
		fmt.Sscanf(in.Text(), `{"id":%d`, &id) //nolint:errcheck // 0 then
		switch {
		case n == 0 && role == "old":
			say(`{"id":0,"protocol":0}`)
		case n == 0:
			say(`{"id":0,"protocol":1}`)
		case n < 5 || role == "good":
			say(fmt.Sprintf("{\"id\":%d,\"size_bytes\":1048576}", id))
		case role == "ends":
			os.Exit(7)
		case role == "closes":
			os.Stdout.Close() //nolint:errcheck // as a test has it
			time.Sleep(time.Hour)
		case role == "stops":
			time.Sleep(time.Hour)
		case role == "negative":
			say(fmt.Sprintf("{\"id\":%d,\"size_bytes\":-1}", id))
		case role == "long":
			say(strings.Repeat("x", 1<<20))
		case role == "ahead":
			say(fmt.Sprintf("{\"id\":%d,\"size_bytes\":1}", id+1))
		case role == "floods":
			for {
				say(`{"id":1,"size_bytes":1}`)
			}
		case role == "holds": // its output outlives it
			cmd := exec.Command("sleep", "1000")
			cmd.Stdout = os.Stdout
			_ = cmd.Start()
			os.Exit(0)
		}
	}
}

// start starts this program in a role.
func start(t *testing.T, role string, patience time.Duration) (*Program, error) {
	t.Helper()
	t.Setenv(actAs, role)
	p, err := Start(Config{Command: []string{os.Args[0]}, Padding: scheduler.AutoPadding, Patience: patience})
	if err == nil {
		t.Cleanup(p.Close)
	}
	return p, err
}

// requests is an observer that keeps the ranges that a run asks for.
type requests []scheduler.Action

func (r *requests) Step(_ scheduler.Time, _ *scheduler.Input, actions []scheduler.Action, _ scheduler.Time) {
	for _, a := range actions {
		if a.Kind == scheduler.Start {
			*r = append(*r, a)
		}
	}
}

// rehearse downloads over two model links.
func rehearse(t *testing.T, cfg sim.Config) (asked requests) {
	t.Helper()
	cfg.Observer = &asked
	if _, err := sim.Run(cfg); err != nil {
		t.Fatal(err)
	}
	return asked
}

func config(t *testing.T, name, algorithm string) sim.Config {
	t.Helper()
	s, err := scenario.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Default(s, algorithm)
	cfg.Size = 60e6
	return cfg
}

// TestPythonIsAlgorithm1: the example asks for what the built-in algorithm asks for, byte by
// byte, in every scenario, with what goes beyond the thesis and without.
func TestPythonIsAlgorithm1(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	p, err := Start(Config{
		Command:  []string{python, filepath.Join("..", "..", "testdata", "policies", "algorithm1.py")},
		Patience: time.Minute, Stderr: os.Stderr,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, name := range scenario.Names() {
		for _, noSteal := range []bool{false, true} {
			own, built := config(t, name, "exec"), config(t, name, "1")
			own.NoSteal, built.NoSteal = noSteal, noSteal
			own.Policy = p.Policy()
			a, b := rehearse(t, own), rehearse(t, built)
			if len(a) < 10 || !slices.Equal(a, b) {
				t.Errorf("%s, no-steal %v: %d requests, Algorithm 1 has %d, and they differ", name, noSteal, len(a), len(b))
			}
		}
	}
	if s := p.Stats(); s.Fallbacks > 0 || s.Questions < 1000 {
		t.Errorf("%+v", s)
	}
}

// TestBadPrograms: whatever a program does, the download goes on by Algorithm 3, and it is
// counted and said why.
func TestBadPrograms(t *testing.T) {
	for role, want := range map[string]string{
		"ends":     "the program ended: exit status 7",
		"closes":   "the program ended: ",
		"stops":    "",
		"negative": "no size within 0 to 2^53-1",
		"long":     "longer than 4096 bytes",
		"ahead":    "which nobody has asked",
		"floods":   "",
		"holds":    "the program ended",
	} {
		t.Run(role, func(t *testing.T) {
			patience := time.Duration(0)
			if want != "" { // it comes to its fault, however busy the machine is
				patience = time.Minute
			}
			p, err := start(t, role, patience)
			if err != nil {
				t.Fatal(err)
			}
			cfg := config(t, "low-speed", "exec")
			cfg.Policy = p.Policy()
			rehearse(t, cfg)
			if want != "" {
				<-p.Failed()
			}
			if err := p.Err(); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
			s := p.Stats()
			if s.Fallbacks == 0 || s.Fallbacks < s.Late || s.Fallbacks > s.Questions || want == "" && s.Late != s.Fallbacks {
				t.Errorf("%+v", s)
			}
			p.Close()
			select {
			case <-p.done:
			case <-time.After(time.Minute):
				t.Error("its process lives")
			}
		})
	}
}

// TestNoProgramIsAlgorithm3: with a program that never answers, all is as with Algorithm 3.
func TestNoProgramIsAlgorithm3(t *testing.T) {
	p, err := start(t, "ends", 0)
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	own, built := config(t, "techno-moving", "exec"), config(t, "techno-moving", "3")
	own.Policy = p.Policy()
	if a, b := rehearse(t, own), rehearse(t, built); !slices.Equal(a, b) {
		t.Errorf("%d requests, Algorithm 3 has %d, and they differ", len(a), len(b))
	}
}

func TestGreeting(t *testing.T) {
	if _, err := start(t, "old", 0); err == nil || !strings.Contains(err.Error(), "version 0") {
		t.Error(err)
	}
	if _, err := Start(Config{Command: []string{"/nonexistent"}}); err == nil {
		t.Error("it started")
	}
	p, err := start(t, "good", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	cfg := config(t, "high-speed", "exec")
	cfg.Policy = p.Policy()
	if n := len(rehearse(t, cfg)); n < 40 { // 60 MB by 1 MiB
		t.Errorf("%d requests", n)
	}
	if s := p.Stats(); s.Fallbacks > 0 || s.Questions < 40 {
		t.Errorf("%+v", s)
	}
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	odd := filepath.Join(dir, "a b.sh")
	if err := os.WriteFile(odd, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]string{
		odd:                    {odd},
		os.Args[0] + "  -x  y": {os.Args[0], "-x", "y"},
		"":                     nil,
		"/nonexistent -x":      nil,
	} {
		got, err := Command(text)
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// asking holds the questions of a run against the schema.
type asking struct {
	scheduler.Policy
	schema interface{ Validate(v any) error }
	t      *testing.T
	asked  int64
}

func (a *asking) Request(v scheduler.View, link scheduler.LinkID) int64 {
	a.asked++
	line, err := newQuestion(v, a.asked, 1, link).line()
	if err == nil {
		err = hold(a.schema, string(line))
	}
	if err != nil {
		a.t.Errorf("%s: %v", line, err)
	}
	return a.Policy.Request(v, link)
}

func hold(schema interface{ Validate(v any) error }, line string) error {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	if err != nil {
		return err
	}
	return schema.Validate(doc)
}

// TestSchema: docs/exec-policy.schema.json is what is asked and what may be answered.
func TestSchema(t *testing.T) {
	schema, err := schematest.Read("../../docs/exec-policy.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"techno-moving", "wifi-dies"} {
		cfg := config(t, name, "3")
		p, err := scheduler.NewPolicy("3", 0, 0.3)
		if err != nil {
			t.Fatal(err)
		}
		a := &asking{Policy: p, schema: schema, t: t}
		cfg.Policy = a
		if rehearse(t, cfg); a.asked < 20 {
			t.Errorf("%s: %d questions", name, a.asked)
		}
	}
	if err := hold(schema, string(greeting())); err != nil {
		t.Error(err)
	}
	for line, good := range map[string]bool{
		`{"id":0,"protocol":1}`:                      true,
		`{"id":1,"size_bytes":0}`:                    true,
		`{"id":1,"size_bytes":9007199254740991}`:     true,
		`{"id":1,"size_bytes":9007199254740992}`:     false,
		`{"id":1,"size_bytes":-1}`:                   false,
		`{"id":1,"size_bytes":1.5}`:                  false,
		`{"id":1,"size_bytes":"1"}`:                  false,
		`{"id":1,"size_bytes":null}`:                 false,
		`{"id":-1,"size_bytes":1}`:                   false,
		`{"id":1}`:                                   false,
		`{"size_bytes":1}`:                           false,
		`{"id":0}`:                                   false,
		`[]`:                                         false,
		`null`:                                       false,
		`{"id":1,"size_bytes":18446744073709551616}`: false,
		`{"id":1,"size_bytes":1}{"id":2}`:            false,
		``:                                           false,
	} {
		_, err := parseAnswer([]byte(line))
		if said := hold(schema, line); (err == nil) != good || (said == nil) != good {
			t.Errorf("%s: %v; by the schema: %v", line, err, said)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	for _, s := range []string{`{"id":0,"protocol":1}`, `{"id":3,"size_bytes":4096}`, `{"id":3}`, `[]`, `{"id":1,"size_bytes":1e3}`, `{"id":1,"size_bytes":1} x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		a, err := parseAnswer(line)
		if err != nil {
			if a != (answer{}) || len(err.Error()) > 2*maxLine {
				t.Errorf("%+v, %v", a, err)
			}
			return
		}
		if a.ID < 0 || a.SizeBytes < 0 || a.SizeBytes > 1<<53 || a.ID > 0 && a.Protocol != 0 {
			t.Errorf("%q: %+v", line, a)
		}
	})
}
