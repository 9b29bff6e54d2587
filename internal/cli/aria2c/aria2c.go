// Package aria2c reads aria2c's command line as mlget's own, for programs that call aria2c by
// its name, such as yt-dlp. Options that ask for mlget's usual behaviour, or do not concern
// HTTP, have no effect.
package aria2c

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/progress"
)

// Version is the version of aria2 whose options these are.
const Version = "1.36.0"

// Command is a command line of aria2c, translated.
type Command struct {
	Version bool
	// Attempts are command lines of mlget's for the same file, to be tried one after the other.
	Attempts [][]string
}

// ErrExists is returned for a file that is there and is neither to be replaced nor to get
// another name.
var ErrExists = errors.New("the file exists: --allow-overwrite=true replaces it")

// switches are options that are true or false, and true where nothing stands behind them.
const switches = ` allow-overwrite allow-piece-length-change always-resume async-dns auto-file-renaming check-certificate check-integrity
conditional-get content-disposition-default-utf8 continue daemon deferred-input disable-ipv6 dry-run enable-color enable-http-keep-alive
enable-http-pipelining enable-mmap enable-rpc force-save force-sequential hash-check-only http-accept-gzip http-auth-challenge http-no-cache
human-readable keep-unfinished-download-result no-conf no-netrc optimize-concurrent-downloads parameterized-uri quiet
realtime-chunk-checksum remote-time remove-control-file reuse-uri save-not-found show-console-readout show-files stderr
truncate-console-readout use-head follow-torrent follow-metalink pause rpc-listen-all rpc-allow-origin-all rpc-secure version `

// valued are options with a value that have no effect here. flagOf has the options that do.
const valued = ` auto-save-interval conf-path console-log-level disk-cache download-result event-poll file-allocation gid log log-level
lowest-speed-limit max-file-not-found max-mmap-limit max-resume-failure-tries max-connection-per-server min-split-size min-tls-version
netrc-path no-file-allocation-limit piece-length proxy-method retry-wait rlimit-nofile save-cookies save-session save-session-interval
server-stat-if server-stat-of server-stat-timeout socket-recv-buffer-size split stop stop-with-process stream-piece-selector
summary-interval uri-selector dscp ftp-user ftp-passwd rpc-listen-port rpc-secret on-download-complete on-download-error
on-download-start on-download-stop on-download-pause max-download-result select-file `

// flagOf is mlget's flag for an option of aria2's with a value, and what stands behind the
// value; "": there is none.
func flagOf(name string) (flag, unit string) {
	switch name {
	case "header", "referer", "user-agent", "load-cookies", "checksum":
		return name, ""
	case "timeout", "connect-timeout":
		return name, "s"
	case "max-tries":
		return "tries", ""
	case "max-concurrent-downloads":
		return "concurrency", ""
	case "max-download-limit", "max-overall-download-limit":
		return "limit-rate", ""
	case "all-proxy", "http-proxy", "https-proxy":
		return "proxy", ""
	case "all-proxy-user", "http-proxy-user", "https-proxy-user":
		return "proxy-user", ""
	case "no-proxy":
		return "noproxy", ""
	case "http-user":
		return "user", ""
	case "http-passwd":
		return "password", ""
	case "ca-certificate":
		return "cacert", ""
	case "certificate":
		return "cert", ""
	case "private-key":
		return "key", ""
	case "input-file":
		return "input-file", ""
	}
	return "", ""
}

// letters are aria2's short options, and what they are short for.
func letters(letter byte) string {
	switch letter {
	case 'V':
		return "check-integrity"
	case 'c':
		return "continue"
	case 'd':
		return "dir"
	case 'i':
		return "input-file"
	case 'j':
		return "max-concurrent-downloads"
	case 'k':
		return "min-split-size"
	case 'l':
		return "log"
	case 'm':
		return "max-tries"
	case 'n':
		return "no-netrc"
	case 'o':
		return "out"
	case 'q':
		return "quiet"
	case 's':
		return "split"
	case 't':
		return "timeout"
	case 'U':
		return "user-agent"
	case 'v':
		return "version"
	case 'x':
		return "max-connection-per-server"
	case 'Z':
		return "force-sequential"
	}
	return ""
}

func has(list, name string) bool { return slices.Contains(strings.Fields(list), name) }

// given is a command line's options: the last of each counts, and all headers.
type given struct {
	values  map[string]string
	headers []string
	urls    []string
}

// Parse reads aria2c's command line.
func Parse(args []string) (Command, error) {
	g := given{values: map[string]string{}}
	for at := 0; at < len(args); at++ {
		name, value, attached := "", "", false
		switch word := args[at]; {
		case word == "--":
			g.urls = append(g.urls, args[at+1:]...)
			return g.command()
		case strings.HasPrefix(word, "--"):
			name, value, attached = strings.Cut(word[2:], "=")
		case len(word) > 1 && word[0] == '-':
			if name = letters(word[1]); name == "" {
				return Command{}, exit.Usagef("aria2c's option %s is not known here", word)
			}
			value, attached = word[2:], len(word) > 2
		default:
			g.urls = append(g.urls, word)
			continue
		}
		flag, _ := flagOf(name)
		switch {
		case has(switches, name):
			if !attached {
				value = "true"
			}
			if value != "true" && value != "false" {
				return Command{}, exit.Usagef("--%s is true or false", name)
			}
		case flag == "" && name != "dir" && name != "out" && name != "interface" && !has(valued, name):
			return Command{}, exit.Usagef("aria2c's option --%s is not known here", name)
		case !attached:
			if at++; at == len(args) {
				return Command{}, exit.Usagef("--%s needs a value", name)
			}
			value = args[at]
		}
		if name == "header" {
			g.headers = append(g.headers, value)
			continue
		}
		g.values[name] = value
	}
	return g.command()
}

func (g *given) is(name string) bool { return g.values[name] == "true" }

// command makes mlget's command lines.
func (g *given) command() (Command, error) {
	if g.is("version") {
		return Command{Version: true}, nil
	}
	if g.is("enable-rpc") && len(g.urls) == 0 && g.values["input-file"] == "" {
		return Command{}, exit.UsageError{Err: errors.New("--enable-rpc: aria2c serves no clients here"), Hint: "mlget daemon"}
	}
	words, err := g.flags()
	if err != nil {
		return Command{}, err
	}
	names, err := g.place()
	if err != nil {
		return Command{}, err
	}
	words = append(words, names...)
	if g.is("force-sequential") || g.values["input-file"] != "" || len(g.urls) == 0 {
		shown, err := g.shown(false)
		return Command{Attempts: [][]string{append(append(words, shown, "--"), g.urls...)}}, err
	}
	var c Command
	for i, u := range g.urls { // they lead to the same file
		shown, err := g.shown(i+1 < len(g.urls))
		if err != nil {
			return Command{}, err
		}
		c.Attempts = append(c.Attempts, append(slices.Clone(words), shown, "--", u))
	}
	return c, nil
}

// shown is the flag that says what of the progress is shown. Where another attempt follows, what
// has failed is not the result.
func (g *given) shown(another bool) (string, error) {
	r := progress.Readout{IsHidden: g.values["show-console-readout"] == "false", Summary: time.Minute, Results: cmp.Or(g.values["download-result"], "default")}
	if text, ok := g.values["summary-interval"]; ok {
		seconds, err := strconv.Atoi(text)
		if err != nil || seconds < 0 {
			return "", exit.Usagef("--summary-interval: want seconds, not %q", text)
		}
		r.Summary = time.Duration(seconds) * time.Second
	}
	if !slices.Contains([]string{"default", "full", "hide"}, r.Results) {
		return "", exit.Usagef("--download-result is default, full or hide")
	}
	if another && r.Results == "default" {
		r.Results = "done"
	}
	mode := r.Mode()
	if g.is("quiet") || r == (progress.Readout{IsHidden: true, Results: "hide"}) {
		mode = progress.ModeNone
	}
	return "--progress=" + string(mode), nil
}

// flags are mlget's flags, without the names of files.
func (g *given) flags() (words []string, err error) {
	add := func(name, value string) { words = append(words, "--"+name+"="+value) }
	words = append(words, "--no-config", "--globoff")
	for _, h := range g.headers {
		if name, _, _ := strings.Cut(h, ":"); !strings.EqualFold(strings.TrimSpace(name), "Accept-Encoding") { // files are fetched as they are
			add("header", h)
		}
	}
	names := make([]string, 0, len(g.values))
	for name := range g.values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		flag, unit := flagOf(name)
		value := g.values[name]
		switch {
		case flag == "" || flag == "limit-rate" && value == "0":
		case value == "" && flag != "proxy" && flag != "noproxy":
		case flag == "proxy-user":
			add(flag, value+":"+g.values[strings.TrimSuffix(name, "user")+"passwd"])
		default:
			add(flag, value+unit)
		}
	}
	for _, pair := range [...][2]string{{"quiet", "quiet"}, {"disable-ipv6", "ipv4"}, {"continue", "continue"}} {
		if g.is(pair[0]) {
			words = append(words, "--"+pair[1])
		}
	}
	if g.values["check-certificate"] == "false" {
		words = append(words, "--insecure")
	}
	if !g.is("remote-time") {
		words = append(words, "--no-remote-time")
	}
	if text := g.values["interface"]; text != "" {
		name, err := interfaceOf(text)
		if err != nil {
			return nil, err
		}
		add("links", name)
	}
	return words, nil
}

// interfaceOf is the interface that a name or an address of --interface stands for. The
// net package cannot list interfaces for an app on Android.
func interfaceOf(text string) (string, error) {
	want, err := netip.ParseAddr(text)
	if err != nil {
		return text, nil //nolint:nilerr // a name
	}
	all, err := link.List(context.Background())
	if err != nil {
		return "", fmt.Errorf("--interface: %w", err)
	}
	for _, i := range all {
		if slices.ContainsFunc(i.Addrs, func(p netip.Prefix) bool { return p.Addr() == want }) {
			return i.Name, nil
		}
	}
	return "", exit.Usagef("--interface: no interface has the address %s", want)
}

// place are the flags that say where the file goes. aria2 gives a file another name where one
// is there, unless it may replace it or go on with it.
func (g *given) place() (words []string, err error) {
	dir, out := g.values["dir"], g.values["out"]
	if dir != "" {
		words = append(words, "--directory-prefix="+dir)
	}
	if out == "" || g.values["input-file"] != "" {
		return words, nil
	}
	path := filepath.Join(dir, out)
	name := out
	for n := 1; !g.is("allow-overwrite") && !g.is("continue") && exists(path); n++ {
		if g.values["auto-file-renaming"] == "false" {
			return nil, ErrExists
		}
		extension := filepath.Ext(out)
		name = strings.TrimSuffix(out, extension) + "." + strconv.Itoa(n) + extension
		path = filepath.Join(dir, name)
	}
	if !filepath.IsAbs(name) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, exit.FileError{Err: err}
		}
	}
	return append(words, "--output="+name), nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
