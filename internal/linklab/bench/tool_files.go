package bench

import (
	"strconv"
	"time"

	"github.com/mlget/mlget/internal/dataset"
	"github.com/mlget/mlget/internal/linklab/scenario"
)

// outDir is the directory into which every tool downloads many files.
const outDir = "out"

// ParseFilesTool reads the name of a tool that fetches many files: mlget,
// mlget-MODE (one that an mlget does not have is left out of its runs), mlget-jN
// and mlget-jNpM (so many files at once, over so many connections each), wget, curl (one after the other), wget2-N (threads),
// curlz-N (transfers at once), aria2-N and aria2-NxM (so many files at once,
// over so many connections each).
func ParseFilesTool(name string) (Tool, error) {
	atOnce := []int{512, 16} // aria2 opens no more connections to a server
	return parsePatterns(Tool{Name: name, Many: true}, []pattern{
		{"mlget", Mlget, nil},
		{"mlget-(hat|eht|lowe)", Mlget, nil},
		{"mlget-(j[0-9]+(?:p[0-9]+)?)", Mlget, atOnce},
		{"wget", Wget, nil},
		{"wget2-([0-9]+)", Wget2, atOnce},
		{"curl", Curl, nil},
		{"curlz-([0-9]+)", Curl, atOnce},
		{"aria2-([0-9]+(?:x[0-9]+)?)", Aria2, atOnce},
	}, "for many files want mlget, mlget-MODE, mlget-jN, mlget-jNpM, wget, wget2-N, curl, curlz-N, aria2-N or aria2-NxM")
}

// argsMany is the tool's command line for many files, without the program.
func (t Tool) argsMany(r Request) []string {
	var a []string
	add := func(more ...string) { a = append(a, more...) }
	n := t.numbers()
	switch t.Family {
	case Mlget:
		add("--links", r.names(), "--quiet", "--report", reportName, "-P", outDir, "-i", r.List)
		if r.Model != "" {
			add("--energy-model", r.Model)
		}
		switch {
		case len(n) > 0:
			add("--mode", "manual", "-j", strconv.Itoa(n[0]))
			if len(n) > 1 {
				add("-p", strconv.Itoa(n[1]))
			}
		case t.Variant != "":
			add(t.variantFlag(), t.Variant)
		}
	case Aria2:
		each := "1"
		if len(n) > 1 {
			each = strconv.Itoa(n[1])
		}
		add("--no-conf", "--quiet", "-j"+strconv.Itoa(n[0]), "-x"+each, "-s"+each, "--min-split-size=1M",
			"--file-allocation=none", "-d", outDir, "-i", r.List)
		if len(r.Links) > 1 {
			add("--multiple-interface=" + r.names())
		}
	case Curl:
		// What -K names is xargs-like: a line "url = ..." each.
		add("-q", "-sS", "--no-progress-meter", "-f", "--remote-name-all", "--create-dirs", "--output-dir", outDir, "-K", curlList)
		if len(n) > 0 {
			add("-Z", "--parallel-max", strconv.Itoa(n[0]))
		}
	case Wget2:
		add("--no-config", "-q", "--max-threads="+strconv.Itoa(n[0]), "-P", outDir, "-i", r.List)
	case Wget:
		add("--no-config", "-q", "-P", outDir, "-i", r.List)
	case Axel, CurlMPTCP: // for one file only
	}
	return append(a, t.protocol(r)...)
}

// curlList is the list of URLs in curl's own form.
const curlList = "urls.curl"

// guessMany is a job's probable time. A tool that fetches one after the other
// waits for a round trip at each.
func (t Tool) guessMany(s scenario.Scenario, j Job, bound time.Duration) time.Duration {
	probable := bound * 5 / 4
	if t.Family == Wget || t.Family == Curl && t.Variant == "" {
		set, err := dataset.Parse(j.Files)
		if err == nil {
			probable += time.Duration(set.Len()) * s.Links[0].RTT
		}
	}
	return probable
}

// filesDefaults are the tools that a comparison over many files runs. mlget's own
// default is hat; curl, one after the other, does what wget does.
func filesDefaults(quick bool) []string {
	if quick {
		return []string{"mlget", "wget", "aria2-16", "aria2-32", "aria2-64", "curlz-50"}
	}
	return []string{
		"mlget", "mlget-eht", "mlget-lowe", "mlget-j16", "wget", "wget2-5", "wget2-32", "aria2-16", "aria2-32", "aria2-64", "aria2-16x4", "curlz-50",
	}
}
