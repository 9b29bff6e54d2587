package get

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/netrc"
)

// addHeaders reads the -H flags, which are curl's: "Name: value", "Name;" for one
// without a value, and "Name:" for none where mlget sends one by itself.
func (o *Options) addHeaders(cfg *fetch.Config) error {
	for i, text := range o.headers {
		name, value, ok := strings.Cut(text, ":")
		none := ok && strings.TrimSpace(value) == ""
		if !ok {
			name, ok = strings.CutSuffix(strings.TrimSpace(text), ";")
		}
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !ok, !httpguts.ValidHeaderFieldName(name), !httpguts.ValidHeaderFieldValue(value):
			// It is not quoted: there may be a password in it.
			return exit.Usagef("-H: header %d is not one: want \"Name: value\"", i+1)
		case strings.EqualFold(name, "Range"), strings.EqualFold(name, "Accept-Encoding"):
			return exit.Usagef("the header %s is mlget's own business", name)
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

// readNetrc reads $NETRC or ~/.netrc.
func readNetrc() (netrc.File, error) {
	path := os.Getenv("NETRC")
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return netrc.File{}, exit.FileError{Err: fmt.Errorf("--netrc: %w", err)}
		}
		path = filepath.Join(home, ".netrc")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return netrc.File{}, exit.FileError{Err: fmt.Errorf("--netrc: %w", err)}
	}
	file, err := netrc.Parse(string(text))
	if err != nil {
		return netrc.File{}, exit.FileError{Err: fmt.Errorf("--netrc: %s: %w", path, err)}
	}
	return file, nil
}
