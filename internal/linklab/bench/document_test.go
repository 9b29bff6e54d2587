package bench

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every page can be made, says in its head how it was made, and what a user gives is not
// overridden.
func TestDocuments(t *testing.T) {
	t.Chdir("../../..")
	for _, d := range documents() {
		if _, err := os.Stat(filepath.Join(documentDir, d.name+".md")); err != nil {
			t.Error(err)
		}
		if d.name == sweeps {
			continue
		}
		f, err := flags{document: d.name, seed: 1}.withDocument()
		if err != nil {
			t.Fatal(err)
		}
		c, err := f.config()
		if err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
		if want := documentDir + "/" + d.name + ".md"; f.out != want || len(c.Plan()) == 0 || f.resume != "" {
			t.Errorf("%s: %d jobs into %s, want some into %s", d.name, len(c.Plan()), f.out, want)
		}
	}
	f, err := flags{document: "mptcp", seed: 1, runs: 7, out: "x.md", tools: []string{"mlget"}}.withDocument()
	want := "linklab bench --scenarios high-speed,low-speed,techno-stationary,lossy --tools mlget --runs 7 --size 50MB --seed 1"
	if got := f.commandLine(); err != nil || got != want || f.out != "x.md" {
		t.Errorf("%s, into %s, %v", got, f.out, err)
	}
	if _, err := (flags{document: "none"}).withDocument(); err == nil || !strings.Contains(err.Error(), "none") {
		t.Error(err)
	}
}

// The sections of the page of sweeps are those that docs/measured/sweeps.md has.
func TestSweepsPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("../../..", documentDir, sweeps+".md"))
	if err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(string(text), -1)
	var titles [][]string
	for _, s := range sweepList() {
		titles = append(titles, []string{"## " + s.title, s.title})
	}
	if !slices.EqualFunc(titles, want, slices.Equal) {
		t.Errorf("%q, want %q", titles, want)
	}
	if !strings.HasPrefix(string(text), sweepsIntro) {
		t.Errorf("the page does not begin with %q", sweepsIntro)
	}
}

// TestDocumentElsewhere: a page of the source tree is made at its top, which an error says.
func TestDocumentElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := (flags{document: "mptcp"}).withDocument(); err == nil || !strings.Contains(err.Error(), "at the top of mlget's source tree") {
		t.Error(err)
	}
	if _, err := (flags{document: "mptcp", out: "x.md"}).withDocument(); err != nil {
		t.Error(err)
	}
}
