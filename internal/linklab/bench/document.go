package bench

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// document is a page of docs/measured that a run of `linklab bench` writes.
type document struct {
	name  string
	about string // what is measured, and how long that takes
	flags flags  // with which the page is made; what the user gives goes first
}

const (
	// bounded are the scenarios that are held against the fluid bound.
	bounded = "high-speed,high-speed-s6,low-speed,techno-stationary,techno-moving,always-online,long-fat,lossy,wifi-dies,lte-dies-and-returns,wifi-sags"
	// documentDir is where the pages are, from the top of the source tree.
	documentDir = "docs/measured"
	// stateDir keeps the results of pages, also in the source tree.
	stateDir = ".cache/bench"
)

// documents are all pages.
func documents() []document {
	list := func(text string) []string { return strings.Split(text, ",") }
	return []document{
		{"benchmarks", "all tools in all scenarios: more than a day", flags{tls: true}},
		{"beside-aria2", "mlget beside aria2 with 2 and 16 connections: 75 minutes", flags{
			tools: list("mlget-3,aria2-2,aria2-16"), scenarios: list(bounded + ",wifi-joins,lo"), runs: 5, size: "100MB", tls: true,
		}},
		{"efficiency", "mlget alone against the fluid bound: 40 minutes", flags{
			tools: list("mlget-3"), scenarios: list(bounded), runs: 5, tls: true,
		}},
		{"energy-lab", "what the tools cost in energy: half an hour", flags{energy: true}},
		{"many-files", "jobs of many files: over two hours", flags{
			files: list("html,image,video/16"), scenarios: list("sydney,sydney-dual"),
		}},
		{"many-files-modes", "the same with mlget's three modes alone: half an hour", flags{
			files: list("html,image,video/16"), scenarios: list("sydney,sydney-dual"), tools: list("mlget,mlget-eht,mlget-lowe"), runs: 1,
		}},
		{"mptcp", "mlget beside curl over the kernel's MPTCP: 4 minutes", flags{
			tools: list("mlget,aria2-2,curl-mptcp,curl-best"), scenarios: list("high-speed,low-speed,techno-stationary,lossy"), runs: 2, size: "50MB",
		}},
		{"processor", "processor time and wake-ups: half an hour", flags{processor: true}},
		{sweeps, "figures 7 and 8 of Guner and Kosar's trade-offs: half an hour", flags{}},
	}
}

// pages are the lines of the help about the pages.
func pages() string {
	var b strings.Builder
	for _, d := range documents() {
		fmt.Fprintf(&b, "  %-16s %s\n", d.name, d.about)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// withDocument fills the flags that were not given with those of the page that --document
// names.
func (f flags) withDocument() (flags, error) {
	if f.document == "" {
		return f, nil
	}
	i := slices.IndexFunc(documents(), func(d document) bool { return d.name == f.document })
	if i < 0 {
		return f, fmt.Errorf("--document %s: there is no such page: linklab bench --help lists them", f.document)
	}
	if f.out == "" {
		if _, err := os.Stat(documentDir); err != nil {
			return f, fmt.Errorf("--document %s: there is no %s: run it at the top of mlget's source tree, or name a file with --out", f.document, documentDir)
		}
		f.out = filepath.Join(documentDir, f.document+".md")
	}
	d := documents()[i].flags
	f.energy, f.processor, f.tls = f.energy || d.energy, f.processor || d.processor, f.tls || d.tls
	f.files, f.scenarios, f.tools = orElse(f.files, d.files...), orElse(f.scenarios, d.scenarios...), orElse(f.tools, d.tools...)
	f.runs, f.size = cmp.Or(f.runs, d.runs), cmp.Or(f.size, d.size)
	return f, nil
}
