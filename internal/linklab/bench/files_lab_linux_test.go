package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mlget/mlget/internal/linklab"
)

// TestRealFiles runs tools that leave all files, and one that does not.
func TestRealFiles(t *testing.T) {
	linklab.SkipIfUnsupported(t)
	bad := filepath.Join(t.TempDir(), "wget")
	if err := os.WriteFile(bad, []byte("#!/bin/sh\nmkdir out && echo nonsense > out/html-0000.html\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	paths := map[string]string{"mlget": buildMlget(t), "wget": bad}
	names := []string{"mlget", "wget"}
	if curl, err := exec.LookPath("curl"); err == nil {
		paths["curl"] = curl
		names = append(names, "curl")
	}
	c := Config{Options: Options{Scenarios: []string{writeScenario(t)}, Files: []string{"html/3+image/1"}, Rounds: 1, Seed: 3, TLS: true}}
	for _, name := range names {
		tool, err := ParseFilesTool(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Tools = append(c.Tools, tool)
	}
	r, err := newRunner(c, paths, linklab.ServerBuiltin)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range c.Plan() {
		res, err := r.run(t.Context(), j)
		if err != nil {
			t.Fatal(err)
		}
		if j.Tool == "wget" {
			if res.Failure != "of 4 files 3 missing, 1 wrong" {
				t.Errorf("%v: %q", j, res.Failure)
			}
			continue
		}
		if !res.OK() || res.Bound <= 0 || res.Connections < 1 || res.Energy == nil || res.Waste == nil {
			t.Errorf("%v: %+v", j, res)
		}
	}
	dir := r.(*labRunner).sets[c.Files[0]].dir
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
}
