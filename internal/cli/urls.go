package cli

import (
	"bufio"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
)

// urls are those of the command line and of the input file, in that order.
func (o *getOptions) urls(args []string, in io.Reader) ([]*url.URL, error) {
	list := args
	if o.inputFile != "" {
		lines, err := readList(o.inputFile, in)
		if err != nil {
			return nil, fileError{fmt.Errorf("--input-file: %w", err)}
		}
		list = append(list[:len(list):len(list)], lines...)
		if len(list) == 0 {
			return nil, usagef("%s names no URL", o.inputFile)
		}
	}
	if len(list) == 0 {
		return nil, usagef("no URL")
	}
	urls := make([]*url.URL, 0, len(list))
	for _, text := range list {
		u, err := parseURL(text)
		if err != nil {
			return nil, err
		}
		urls = append(urls, u)
	}
	return urls, nil
}

// readList reads one URL a line; blank lines and those that begin with # are
// passed over.
func readList(name string, in io.Reader) ([]string, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // it was only read
		in = f
	}
	var list []string
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if text := strings.TrimSpace(lines.Text()); text != "" && text[0] != '#' {
			list = append(list, text)
		}
	}
	return list, lines.Err()
}

// parseURL reads a URL as people type it: without a scheme it is http.
func parseURL(text string) (*url.URL, error) {
	full := text
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	if err != nil { // its text may quote a password
		return nil, usagef("one of the URLs cannot be read")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, usagef("%s: only http and https can be downloaded", u.Redacted())
	case u.Hostname() == "":
		return nil, usagef("%s: there is no host in the URL", u.Redacted())
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}
