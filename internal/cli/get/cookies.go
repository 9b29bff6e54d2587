package get

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cookies"
	"github.com/mlget/mlget/internal/rewrite"
	"github.com/mlget/mlget/internal/units"
)

// cookieOptions holds the flags of cookies.
type cookieOptions struct {
	given []string // NAME=VALUE, or the name of a file
	load  []string // names of files
	save  string   // name of a file; empty: none
}

func (o *cookieOptions) addFlags(f *pflag.FlagSet) {
	f.StringArrayVarP(&o.given, "cookie", "b", nil, "send `NAME=VALUE`, or those of a file")
	flags.Detail(f, "cookie", "A value without = is a file of cookies. NAME=VALUE goes to the URL's own scheme, host and port; a file's cookies, and those that servers set, as in browsers.")
	flags.NameVar(f, &o.save, "save-cookies", "", "write the cookies to `FILE` at the end")
	flags.Detail(f, "save-cookies", "Netscape's format, as curl and wget have it; for its owner alone.")
}

func (o *cookieOptions) addHabits(f *pflag.FlagSet) {
	f.StringArrayVar(&o.load, "load-cookies", nil, "--cookie `FILE`")
	f.Bool("keep-session-cookies", false, "they are kept")
	f.Lookup("load-cookies").Hidden, f.Lookup("keep-session-cookies").Hidden = true, true
}

// jar reads the files of cookies, and adds the cookies given to the header. A file that is not
// there has none, as with curl and wget: said is to be said of such.
func (o *cookieOptions) jar(header http.Header) (jar *cookies.Jar, said []string, err error) {
	if o.save == "-" {
		return nil, nil, exit.Usagef("--save-cookies: want a file, not -")
	}
	jar = cookies.New()
	files := o.load
	var pairs []string
	for _, text := range o.given {
		_, err := units.ParseSize(text)
		switch {
		case strings.Contains(text, "://"):
			return nil, nil, exit.UsageError{Err: errors.New("-b is a cookie, not a URL"), Hint: "to go on in the background: nohup mlget ... &"}
		case strings.Contains(text, "="):
			if strings.ContainsAny(text, "\r\n\x00") {
				return nil, nil, exit.Usagef("-b: control characters in a cookie")
			}
			pairs = append(pairs, text)
		case err == nil && !exists(text):
			return nil, nil, exit.UsageError{Err: errors.New("-b is a cookie, NAME=VALUE, or a file of cookies"), Hint: "--block-size " + text}
		default:
			files = append(files, text)
		}
	}
	if len(pairs) > 0 {
		header["Cookie"] = []string{strings.Join(append(header["Cookie"], pairs...), "; ")}
	}
	for _, name := range files {
		switch err := load(jar, name); {
		case errors.Is(err, fs.ErrNotExist) && name == o.save: // it is written at the end
		case errors.Is(err, fs.ErrNotExist):
			said = append(said, fmt.Sprintf("no cookies: %v", err))
		case err != nil:
			return nil, nil, exit.FileError{Err: fmt.Errorf("cookies: %w", err)}
		}
	}
	return jar, said, nil
}

// load reads a file of cookies. Its error does not quote the file.
func load(jar *cookies.Jar, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it is only read
	if err := jar.Load(f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// write saves the cookies, if that is asked for.
func (o *cookieOptions) write(jar *cookies.Jar) error {
	if o.save == "" || jar == nil {
		return nil
	}
	if err := rewrite.Private(o.save, jar.Text()); err != nil {
		return exit.FileError{Err: fmt.Errorf("--save-cookies: %w", err)}
	}
	return nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
