package bench

import (
	"fmt"
	"regexp"
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

// traits are what a program is like.
type traits struct {
	program string // the name of the executable
	// byAddress programs bind to addresses, which takes effect only where the routing looks
	// at them. Those that bind to devices, mlget above all, do without, as on an ordinary
	// machine.
	byAddress bool
	http2     bool // it can use it
	protocol  map[Transport]string
	trust     string // the flag for an authority's file, AUTHORITY
}

func (t Tool) traits() traits {
	const attached = "--ca-certificate=AUTHORITY"
	curl := traits{"curl", false, true, map[Transport]string{Clear: "--http1.1", TLS1: "--http1.1", TLS2: "--http2"}, "--cacert AUTHORITY"}
	switch t.Family {
	case Mlget:
		mlget := traits{"mlget", false, true, map[Transport]string{TLS1: "--http1.1"}, "--cacert AUTHORITY"}
		if t.Name == otherBuild {
			mlget.program = otherBuild
		}
		return mlget
	case Aria2:
		return traits{"aria2c", true, false, nil, attached}
	case Axel:
		return traits{"axel", true, false, nil, "--insecure"} // it cannot verify a certificate that names an address
	case Curl:
		return curl
	case CurlMPTCP:
		curl.program = "mptcpize" // which has any curl ask for MPTCP
		return curl
	case Wget2:
		return traits{"wget2", false, true, map[Transport]string{Clear: "--http2=off", TLS1: "--http2=off"}, attached}
	case Wget:
		return traits{"wget", false, false, nil, attached}
	}
	return traits{}
}

func (t Tool) program() string { return t.traits().program }

// pattern is how a tool is named; what stands in its brackets is the tool's variant.
type pattern struct {
	text   string
	family Family
	most   []int // of the numbers in the variant
}

// ParseTool reads a tool's name: mlget, mlget-ALGORITHM, mlget-ENERGY,
// aria2-CONNECTIONS, axel, curl-LINK, curl-best, curl-mptcp, wget2.
func ParseTool(name string) (Tool, error) {
	const word = `([a-zA-Z0-9._][a-zA-Z0-9._-]{0,14})` // an algorithm, a number or a device
	return parsePatterns(Tool{Name: name}, []pattern{
		{"mlget", Mlget, nil},
		{otherBuild, Mlget, nil},
		{"mlget-" + word, Mlget, nil},
		{"aria2-([1-9][0-9]*)", Aria2, []int{16}}, // it opens no more to one server
		{"axel", Axel, nil},
		{"wget2", Wget2, nil},
		{"curl-mptcp", CurlMPTCP, nil},
		{"curl-" + word, Curl, nil},
	}, "want mlget, mlget-ALGORITHM, aria2-CONNECTIONS, axel, wget2, curl-LINK, curl-best or curl-mptcp")
}

// parsePatterns reads a tool's name.
func parsePatterns(t Tool, patterns []pattern, wanted string) (Tool, error) {
	for _, p := range patterns {
		m := regexp.MustCompile(`^(?:` + p.text + `)$`).FindStringSubmatch(t.Name)
		if m == nil {
			continue
		}
		t.Family = p.family
		if len(m) > 1 {
			t.Variant = m[1]
		}
		if p.most == nil {
			return t, nil
		}
		for i, n := range t.numbers() {
			if n < 1 || n > p.most[i] {
				return t, fmt.Errorf("tool %q: %d must be within 1..%d", t.Name, n, p.most[i])
			}
		}
		return t, nil
	}
	return t, fmt.Errorf("tool %q: %s", t.Name, wanted)
}

// numbers are those of the variant, in order.
func (t Tool) numbers() []int {
	var list []int
	for _, digits := range regexp.MustCompile(`[0-9]+`).FindAllString(t.Variant, -1) {
		n, err := strconv.Atoi(digits)
		if err != nil {
			n = -1 // too long for a number
		}
		list = append(list, n)
	}
	return list
}

// parseTool reads the name of a tool for one file, or for many.
func parseTool(name string, many bool) (Tool, error) {
	if many {
		return ParseFilesTool(name)
	}
	return ParseTool(name)
}

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
func (t Tool) protocol(r Request) []string {
	of := t.traits()
	a := strings.Fields(of.protocol[r.Transport])
	if r.CA != "" {
		for word := range strings.FieldsSeq(of.trust) {
			a = append(a, strings.Replace(word, "AUTHORITY", r.CA, 1))
		}
	}
	return a
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
