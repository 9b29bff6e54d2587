package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

// Transport is what carries the body.
type Transport string

// The transports.
const (
	Clear Transport = "http"     // HTTP/1.1 in clear
	TLS1  Transport = "https-h1" // HTTP/1.1 over TLS, even where HTTP/2 could be had
	TLS2  Transport = "https"    // over TLS, with HTTP/2 if the tool knows it
)

// title is how a report names the transport.
func (t Transport) title() string {
	switch t {
	case Clear:
		return "HTTP/1.1 in clear"
	case TLS1:
		return "HTTP/1.1 over TLS"
	case TLS2:
		return "HTTP/2 over TLS"
	}
	return string(t)
}

// Family is which program a tool is.
type Family uint8

// The families.
const (
	Mlget Family = iota
	Aria2
	Axel
	Curl
	CurlMPTCP
	Wget2
	Wget
)

// Tool is a program with one way of using it.
type Tool struct {
	Name   string // as it is chosen and reported
	Family Family
	// Variant is mlget's algorithm or energy mode (empty: its default), the number of aria2's
	// connections, or curl's link ("best": that with the highest rate).
	Variant string
	Many    bool // a tool of ParseFilesTool
}

// bestLink is the link name that stands for the fastest one.
const bestLink = "best"

// algorithms and energyModes are all of mlget's variants; those that an mlget
// does not have are left out of its runs.
func algorithms() []string { return []string{"single", "naive", "1", "2", "3"} }

func energyModes() []string { return []string{"emtcp", "min-energy"} }

// named are mlget's tools of these variants.
func named(variants ...string) []string {
	names := make([]string, 0, len(variants))
	for _, v := range variants {
		names = append(names, "mlget-"+v)
	}
	return names
}

// variantFlag is mlget's flag that chooses its variant.
func (t Tool) variantFlag() string {
	if t.Many {
		return "--mode"
	}
	if slices.Contains(energyModes(), t.Variant) {
		return "--energy"
	}
	return "--algorithm"
}

// ParseTool reads a tool's name: mlget, mlget-ALGORITHM, mlget-ENERGY,
// aria2-CONNECTIONS, axel, curl-LINK, curl-best, curl-mptcp, wget2.
func ParseTool(name string) (Tool, error) {
	t := Tool{Name: name}
	program, variant, _ := strings.Cut(name, "-")
	switch {
	case name == "axel":
		t.Family = Axel
	case name == "wget2":
		t.Family = Wget2
	case name == "mlget", name == other:
		t.Family = Mlget
	case name == "curl-mptcp":
		t.Family = CurlMPTCP
	case program == "mlget" && isWord(variant):
		t.Family, t.Variant = Mlget, variant
	case program == "curl" && isWord(variant):
		t.Family, t.Variant = Curl, variant
	case program == "aria2" && isWord(variant):
		// aria2 opens at most 16 connections to one server.
		if n, err := strconv.Atoi(variant); err != nil || n < 1 || n > 16 || variant != strconv.Itoa(n) {
			return t, fmt.Errorf("tool %q: aria2 takes 1 to 16 connections", name)
		}
		t.Family, t.Variant = Aria2, variant
	default:
		return t, fmt.Errorf("tool %q: want mlget, mlget-ALGORITHM, aria2-CONNECTIONS, axel, wget2, curl-LINK, curl-best or curl-mptcp", name)
	}
	return t, nil
}

// isWord accepts what can be an algorithm, a number or a device.
func isWord(s string) bool {
	if s == "" || len(s) > 15 || s[0] == '-' {
		return false
	}
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// program is the name of the executable.
func (t Tool) program() string {
	switch t.Family {
	case Mlget:
		if t.Name == other {
			return other
		}
		return "mlget"
	case Aria2:
		return "aria2c"
	case Axel:
		return "axel"
	case Curl:
		return "curl"
	case CurlMPTCP:
		return "mptcpize" // which has any curl ask for MPTCP
	case Wget2:
		return "wget2"
	case Wget:
		return "wget"
	}
	return ""
}

// parseTool reads the name of a tool for one file, or for many.
func parseTool(name string, many bool) (Tool, error) {
	if many {
		return ParseFilesTool(name)
	}
	return ParseTool(name)
}

// sourceRules says that the tool binds to addresses, which takes effect only
// where the routing looks at them. Tools that bind to devices, mlget above
// all, do without, as on an ordinary machine.
func (t Tool) sourceRules() bool { return t.Family == Aria2 || t.Family == Axel }

// http2 says that the tool can use it.
func (t Tool) http2() bool { return t.Family != Aria2 && t.Family != Axel && t.Family != Wget }

// outName is the file that every tool writes, reportName that of mlget's
// report, both in the directory in which it runs.
const (
	outName    = "out.bin"
	reportName = "report.json"
)

// Request is one download as a tool is asked for it.
type Request struct {
	URL       string
	List      string // of many files: the file of their URLs
	CA        string // a file; empty in clear
	Model     string // the file that describes the links' radios; empty: they have no models
	Transport Transport
	Links     []scenario.Link // those of the lab; none: the loopback device
}

// names are the links' names, separated by commas.
func (r Request) names() string {
	names := make([]string, 0, len(r.Links))
	for _, l := range r.Links {
		names = append(names, l.Name)
	}
	return strings.Join(names, ",")
}

// args is the tool's command line, without the program. What users may have
// configured is left out wherever a tool can be told so; the rest is kept away
// by an empty home directory.
func (t Tool) args(r Request) []string {
	if t.Many {
		return t.argsMany(r)
	}
	var a []string
	add := func(more ...string) { a = append(a, more...) }
	switch t.Family {
	case Mlget:
		links := r.names()
		if links == "" {
			links = loopback
		}
		if t.Variant != "" {
			add(t.variantFlag(), t.Variant)
		}
		add("--links", links, "--quiet", "--report", reportName, "-o", outName)
		if r.Model != "" {
			add("--energy-model", r.Model)
		}
	case Aria2:
		add("--no-conf", "--quiet", "-x"+t.Variant, "-s"+t.Variant, "--min-split-size=1M", "--file-allocation=none", "-o", outName)
		if len(r.Links) > 0 {
			add("--multiple-interface=" + r.names())
		}
	case Axel:
		add("-q", "-4", "-n", "4", "-o", outName) // its own default number of connections
	case Curl, CurlMPTCP:
		if t.Family == CurlMPTCP {
			add("run", "curl")
		}
		add("-q", "-sS", "-f", "-o", outName)
		if l, ok := t.link(r.Links); ok {
			add("--interface", "if!"+l.Name)
		}
	case Wget2:
		add("--no-config", "-q", "-O", outName)
	case Wget: // for many files only
	}
	add(t.protocol(r)...)
	return append(a, r.URL)
}

// protocol are the flags that say which HTTP to speak, and whom to trust.
func (t Tool) protocol(r Request) (a []string) {
	switch t.Family {
	case Mlget:
		if r.Transport == TLS1 {
			a = append(a, "--http1.1")
		}
	case Curl, CurlMPTCP:
		if r.Transport == TLS2 {
			a = append(a, "--http2")
		} else {
			a = append(a, "--http1.1")
		}
	case Wget2:
		if r.Transport != TLS2 {
			a = append(a, "--http2=off")
		}
	case Aria2, Axel, Wget: // they know HTTP/1.1 only
	}
	if r.CA == "" {
		return a
	}
	switch t.Family {
	case Mlget, Curl, CurlMPTCP:
		return append(a, "--cacert", r.CA)
	case Axel:
		return append(a, "--insecure") // it cannot verify a certificate that names an address
	case Aria2, Wget, Wget2:
	}
	return append(a, "--ca-certificate="+r.CA)
}

// files are what the tool must find in its home directory.
func (t Tool) files(r Request) map[string]string {
	if t.Many {
		return nil
	}
	if t.Family == Axel && len(r.Links) > 0 {
		return map[string]string{".axelrc": "interfaces = " + strings.ReplaceAll(r.names(), ",", " ") + "\n"}
	}
	return nil
}

// link is the one link that the tool uses, as far as that is known before; ok
// is false for a tool that may use several, and where there is no such link.
func (t Tool) link(links []scenario.Link) (l scenario.Link, ok bool) {
	if len(links) == 0 {
		return l, false
	}
	switch t.Family {
	case Axel, Wget2, Wget:
		return links[0], true // the one with the default route
	case Curl:
		if t.Variant == bestLink {
			l = links[0]
			for _, k := range links[1:] {
				if k.DownMbps > l.DownMbps {
					l = k
				}
			}
			return l, true
		}
		for _, k := range links {
			if k.Name == t.Variant {
				return k, true
			}
		}
	case Mlget, Aria2, CurlMPTCP:
	}
	return l, false
}
