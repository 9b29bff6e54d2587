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
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/aria2rpc"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/progress"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/internal/urlglob"
)

// Version is the version of aria2 whose options these are.
const Version = "1.36.0"

// Command is a command line of aria2c, translated.
type Command struct {
	Version bool
	Help    bool
	// Attempts are command lines of mlget's for the same file, to be tried one after the other.
	Attempts [][]string
}

// ErrExists is returned for a file that is there and is neither to be replaced nor to get
// another name.
var ErrExists = errors.New("the file exists: --allow-overwrite=true replaces it")

// ErrNoURL is returned for a command line that names no file to download.
var ErrNoURL = errors.New("no URL, and no --input-file")

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
			if name == "help" {
				return Command{Help: true}, nil
			}
			if name = whole(name); name == "" {
				return Command{}, exit.Usagef("aria2c's option %s is not known here", word)
			}
		case strings.HasPrefix(word, "-h"):
			return Command{Help: true}, nil
		case len(word) > 1 && word[0] == '-':
			long, ok := lookup(short, word[1:2])
			if !ok {
				return Command{}, exit.Usagef("aria2c's option %s is not known here", word)
			}
			name, value, attached = long[0], word[2:], len(word) > 2
		default:
			g.urls = append(g.urls, word)
			continue
		}
		switch {
		case has(switches, name):
			if !attached {
				value = "true"
			}
		case !attached:
			if at++; at == len(args) {
				return Command{}, exit.Usagef("--%s needs a value", name)
			}
			value = args[at]
		}
		if !isAllowed(name, value) {
			return Command{}, exit.Usagef("--%s: %q is not allowed", name, value)
		}
		if name == "header" {
			g.headers = append(g.headers, value)
			continue
		}
		g.values[name] = value
	}
	return g.command()
}

// isAllowed says whether an option may have a value.
func isAllowed(name, value string) bool {
	switch {
	case has(switches, name):
		return value == "true" || value == "false"
	case name == "console-log-level":
		name = "log-level"
	case value == "": // of a variable that is not set, and aria2's word for no proxy
		return true
	}
	return aria2rpc.IsAllowed(name, value)
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
	if len(g.urls) == 0 && g.values["input-file"] == "" {
		return Command{}, ErrNoURL
	}
	words, err := g.flags()
	if err != nil {
		return Command{}, err
	}
	if g.is("force-sequential") || g.values["input-file"] != "" {
		place, err := g.place("")
		if err != nil {
			return Command{}, err
		}
		shown, err := g.shown(false)
		return Command{Attempts: [][]string{slices.Concat(words, place, []string{shown, "--"}, g.urls)}}, err
	}
	urls, err := g.mirrors()
	if err != nil {
		return Command{}, err
	}
	var c Command
	for i, u := range urls {
		place, err := g.place(u)
		if err != nil {
			return Command{}, err
		}
		shown, err := g.shown(i+1 < len(urls))
		if err != nil {
			return Command{}, err
		}
		c.Attempts = append(c.Attempts, slices.Concat(words, place, []string{shown, "--", u}))
	}
	return c, nil
}

// mirrors are the URLs of one file; patterns stand for several.
func (g *given) mirrors() (urls []string, err error) {
	if !g.is("parameterized-uri") {
		return g.urls, nil
	}
	for _, text := range g.urls {
		pattern, err := urlglob.Parse(text)
		if err != nil {
			return nil, exit.UsageError{Err: err}
		}
		for u := range pattern.All() {
			urls = append(urls, u.Text)
		}
	}
	return urls, nil
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
	words = append(words, "--no-config")
	if !g.is("parameterized-uri") || !g.is("force-sequential") {
		words = append(words, "--globoff")
	}
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
	for _, pair := range [...][2]string{{"quiet", "quiet"}, {"disable-ipv6", "ipv4"}, {"continue", "continue"}, {"dry-run", "spider"}} {
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
	if list := cmp.Or(g.values["multiple-interface"], g.values["interface"]); list != "" {
		names := strings.Split(list, ",")
		for i, text := range names {
			if names[i], err = interfaceOf(strings.TrimSpace(text)); err != nil {
				return nil, err
			}
		}
		add("links", strings.Join(names, ","))
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

// place are the flags for the location of a URL's file; no URL stands for several files. If a
// file exists, aria2 takes another name, unless it may replace or continue it.
func (g *given) place(uri string) (words []string, err error) {
	dir, out := g.values["dir"], g.values["out"]
	if dir != "" {
		words = append(words, "--directory-prefix="+dir)
	}
	if uri == "" || g.is("dry-run") {
		return words, nil
	}
	if out == "" {
		u, err := url.Parse(uri)
		if err != nil {
			return words, nil //nolint:nilerr // whoever downloads it says what is wrong
		}
		if out = store.NameFromURL(u); !g.is("continue") && !exists(filepath.Join(dir, out)) {
			return append(words, "--content-disposition"), nil
		}
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
	if !filepath.IsAbs(name) && filepath.Base(name) != name { // the directory itself is made anyway
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
