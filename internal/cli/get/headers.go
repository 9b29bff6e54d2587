package get

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/netrc"
)

// addHeaders reads the -H flags, which are curl's: "Name: value", "Name;" for one
// without a value, and "Name:" for none where mlget sends one by itself.
func (o *Options) addHeaders(cfg *fetch.Config) error {
	lines, err := o.headerLines()
	if err != nil {
		return err
	}
	for i, text := range lines {
		name, value, ok := strings.Cut(text, ":")
		none := ok && strings.TrimSpace(value) == ""
		if !ok {
			name, ok = strings.CutSuffix(strings.TrimSpace(text), ";")
		}
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !ok, !httpguts.ValidHeaderFieldName(name), !httpguts.ValidHeaderFieldValue(value):
			// It is not quoted: there may be a password in it.
			return exit.Usagef("-H: header %d is malformed: want \"Name: value\"", i+1)
		case strings.EqualFold(name, "Range"), strings.EqualFold(name, "Accept-Encoding"):
			return exit.Usagef("the header %s is set by mlget itself", name)
		case !none:
			cfg.Header.Add(name, value)
		case strings.EqualFold(name, "User-Agent"):
			cfg.UserAgent = ""
		default:
			cfg.Header[http.CanonicalHeaderKey(name)] = nil
		}
	}
	return nil
}

// maxHeaders bounds a file of headers, in bytes.
const maxHeaders = 1 << 20

// headerLines are the headers of the -H flags, and of the files that @FILE names.
func (o *Options) headerLines() (lines []string, err error) {
	for _, text := range o.headers {
		name, isFile := strings.CutPrefix(text, "@")
		if !isFile {
			lines = append(lines, text)
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, exit.FileError{Err: fmt.Errorf("-H: %w", err)}
		}
		all, err := io.ReadAll(io.LimitReader(f, maxHeaders))
		_ = f.Close() // it was only read
		if err != nil {
			return nil, exit.FileError{Err: fmt.Errorf("-H: %w", err)}
		}
		for line := range strings.Lines(string(all)) {
			if line = strings.TrimSpace(line); line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines, nil
}

// readNetrc reads the file that --netrc-file or $NETRC names, or ~/.netrc; nil: it is not to
// be read, or is not there and need not be.
func (o *Options) readNetrc() (*netrc.File, error) {
	if !o.netrc && !o.netrcTry && o.netrcFile == "" && !o.half() {
		return nil, nil
	}
	path := cmp.Or(o.netrcFile, os.Getenv("NETRC"))
	own := path == ""
	if own {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, exit.FileError{Err: fmt.Errorf("--netrc: %w", err)}
		}
		path = filepath.Join(home, ".netrc")
	}
	text, err := os.ReadFile(path)
	if own && runtime.GOOS == "windows" && errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(filepath.Dir(path), "_netrc") // its name there, for curl and ftp
		text, err = os.ReadFile(path)
	}
	switch {
	case err != nil && !o.netrc && (o.netrcTry || o.netrcFile == ""):
		return nil, nil //nolint:nilerr // as far as there is one
	case err != nil:
		return nil, exit.FileError{Err: fmt.Errorf("--netrc: %w", err)}
	}
	file, err := netrc.Parse(string(text))
	if err != nil {
		return nil, exit.FileError{Err: fmt.Errorf("--netrc: %s: %w", path, err)}
	}
	return &file, nil
}

// half says whether the command line has a user without a password, or the reverse.
func (o *Options) half() bool {
	user, _, known := strings.Cut(o.user, ":")
	known = known || o.password != ""
	return known && user == "" || !known && user != ""
}
