package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/linklab"
)

// Machine is what results depend on.
type Machine struct {
	CPU      string  `json:"cpu"`
	Cores    int     `json:"cores"`
	MemoryGB float64 `json:"memory_gb"` // 10^9 bytes
	Kernel   string  `json:"kernel"`
}

// readMachine reads what /proc says; what it does not say stays empty.
func readMachine(proc string) Machine {
	m := Machine{CPU: runtime.GOARCH, Cores: runtime.NumCPU()}
	if v := field(filepath.Join(proc, "cpuinfo"), "model name"); v != "" {
		m.CPU = v
	}
	kb, _, _ := strings.Cut(field(filepath.Join(proc, "meminfo"), "MemTotal"), " ")
	if n, err := strconv.ParseInt(kb, 10, 64); err == nil {
		m.MemoryGB = float64(n/1000*1024/1000) / 1000
	}
	if text, err := os.ReadFile(filepath.Join(proc, "sys/kernel/osrelease")); err == nil {
		m.Kernel = "Linux " + strings.TrimSpace(string(text))
	}
	return m
}

// field is the value of the first line "key : value" of a file.
func field(path, key string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// loadAverage is that of the last minute; 0 if it is not known.
func loadAverage(proc string) float64 {
	text, err := os.ReadFile(filepath.Join(proc, "loadavg"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return v
}

// inventory is where the programs are, and what there is to say about them.
type inventory struct {
	paths    map[string]string // by the program's name
	versions []string
	notes    []string
	build    string // SHA-256 of mlget
}

// takeInventory looks for the programs of the tools and returns the tools that
// can be run; each of the others has a note that says why not.
// against is another build of mlget, if one is compared to.
func takeInventory(ctx context.Context, tools []Tool, against string) (inventory, []Tool, error) {
	v := inventory{paths: map[string]string{}}
	if against != "" {
		path, err := filepath.Abs(against)
		if err != nil {
			return v, nil, err
		}
		v.paths[otherBuild] = path
		v.versions = append(v.versions, version(ctx, otherBuild, path))
	}
	var usable []Tool
	values := map[string][]string{} // of mlget's flags
	for _, t := range tools {
		p := t.program()
		if _, asked := v.paths[p]; !asked {
			v.paths[p] = linklab.Find(p)
			if v.paths[p] != "" {
				v.versions = append(v.versions, version(ctx, p, v.paths[p]))
			}
		}
		flag := t.variantFlag()
		if _, asked := values[flag]; !asked && t.Family == Mlget {
			values[flag] = valuesOf(ctx, v.paths[p], flag)
		}
		if why := v.missing(t, values[flag]); why != "" {
			v.notes = append(v.notes, fmt.Sprintf("%s is left out: %s.", t.Name, why))
			continue
		}
		usable = append(usable, t)
	}
	if len(usable) == 0 {
		err := errors.New("none of the tools can be run: " + strings.Join(v.notes, " "))
		return v, nil, &linklab.HintError{Err: err, Hint: "mlget is looked for beside linklab, then in $PATH: make build"}
	}
	if mlget := v.paths[Tool{}.program()]; mlget != "" {
		var err error
		if v.build, err = linklab.HashFile(mlget); err != nil {
			return v, nil, err
		}
	}
	return v, usable, nil
}

// missing says why a tool cannot be run, given the values that mlget's flag for its variant may
// have.
func (v inventory) missing(t Tool, values []string) string {
	switch {
	case v.paths[t.program()] == "":
		return t.program() + " is not installed"
	case t.Family == Mlget && t.Many && len(t.numbers()) > 0:
		if !slices.Contains(values, "manual") {
			return "this mlget has no --mode manual"
		}
	case t.Family == Mlget && t.Variant != "" && !slices.Contains(values, t.Variant):
		return "this mlget has no " + t.variantFlag() + " " + t.Variant
	case t.Family == CurlMPTCP:
		if text, err := os.ReadFile("/proc/sys/net/mptcp/enabled"); err != nil || strings.TrimSpace(string(text)) != "1" {
			return "this kernel has no MPTCP, or it is switched off"
		}
		if linklab.Find("curl") == "" {
			return "curl is not installed"
		}
		if linklab.Find("ip") == "" {
			return "iproute2, which sets MPTCP up, is not installed"
		}
	}
	return ""
}

// valuesOf are the values that a flag of mlget may have, as its completion of command lines tells
// a shell: one in a line, and then what is to be done with them. Its help is written for people,
// and does not list all flags.
func valuesOf(ctx context.Context, path, flag string) []string {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	text, err := exec.CommandContext(ctx, path, "__complete", flag, "").Output()
	if err != nil {
		return nil
	}
	values, _, _ := strings.Cut(string(text), ":")
	return strings.Fields(values)
}

// askTime bounds how long a program may think about its version.
const askTime = 10 * time.Second

// ask runs a program that only says something.
func ask(ctx context.Context, path string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	text, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	if err != nil {
		return ""
	}
	return string(text)
}

// version is a program's name and version: the first word with a digit of
// what it says first.
func version(ctx context.Context, program, path string) string {
	arg := "--version"
	switch program {
	case "mlget", otherBuild:
		arg = "version"
	case "nginx":
		arg = "-v"
	}
	return program + " " + firstNumber(ask(ctx, path, arg))
}

// firstNumber is the first word of the first line that begins with a digit,
// or that does so behind a slash.
func firstNumber(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	for _, w := range strings.Fields(line) {
		if i := strings.LastIndexByte(w, '/'); i >= 0 {
			w = w[i+1:]
		}
		if w != "" && w[0] >= '0' && w[0] <= '9' {
			return w
		}
	}
	return "of unknown version"
}
