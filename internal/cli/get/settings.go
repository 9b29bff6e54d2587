package get

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/configfile"
)

// settings holds the flags of configuration files.
type settings struct {
	files []string
	none  bool // the user's own file is not read
}

func (o *settings) addFlags(f *pflag.FlagSet) {
	f.StringArrayVarP(&o.files, "config", "K", nil, "read flags from `FILE`, NAME = VALUE a line")
	flags.Detail(f, "config", "As curl's; - = standard input. Before it mlget/config in $XDG_CONFIG_HOME or ~/.config is read, if it is there. What the command line says wins.")
	f.BoolVar(&o.none, "no-config", false, "do not read ~/.config/mlget/config")
}

// ReadSettings reads the configuration files and sets the flags that the command line leaves
// open. urls are the URLs in these files.
func (o *Options) ReadSettings(f *pflag.FlagSet, stdin io.Reader) (urls []string, err error) {
	given := make(map[string]bool) // on the command line
	f.Visit(func(flag *pflag.Flag) { given[flag.Name] = !isList(flag) })
	if dir, err := os.UserConfigDir(); err == nil && !o.settings.none {
		name := filepath.Join(dir, "mlget", "config")
		more, err := readSettings(f, given, name, nil)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		urls = more
	}
	for _, name := range o.settings.files {
		more, err := readSettings(f, given, name, stdin)
		if err != nil {
			return nil, err
		}
		urls = append(urls, more...)
	}
	return urls, nil
}

// ReadFlags sets the flags of a configuration file, except those that f has from the command
// line.
func ReadFlags(f *pflag.FlagSet, name string) error {
	given := make(map[string]bool)
	f.Visit(func(flag *pflag.Flag) { given[flag.Name] = true })
	urls, err := readSettings(f, given, name, nil)
	if err == nil && len(urls) > 0 {
		err = exit.Usagef("%s: there is no flag %q", name, "url")
	}
	return err
}

func isList(f *pflag.Flag) bool {
	_, list := f.Value.(pflag.SliceValue)
	return list
}

// readSettings reads one file, or standard input where that may be meant.
func readSettings(f *pflag.FlagSet, given map[string]bool, name string, stdin io.Reader) (urls []string, err error) {
	in, shown := stdin, "standard input"
	if name != "-" || stdin == nil {
		file, err := os.Open(name)
		if err != nil {
			return nil, exit.FileError{Err: fmt.Errorf("--config: %w", err)}
		}
		defer file.Close() //nolint:errcheck // it is only read
		in, shown = file, name
	}
	all, err := configfile.Parse(in)
	var mistake *configfile.Error
	switch {
	case errors.As(err, &mistake):
		return nil, exit.Usagef("%s, line %d: %w", shown, mistake.Line, mistake.Err)
	case err != nil:
		return nil, exit.FileError{Err: fmt.Errorf("--config: %s: %w", shown, err)}
	}
	for _, option := range all {
		if option.Name == "url" && option.HasValue {
			urls = append(urls, option.Value)
			continue
		}
		if err := set(f, given, option); err != nil {
			return nil, exit.UsageError{Err: fmt.Errorf("%s, line %d: %w", shown, option.Line, err), Hint: "mlget --help lists what there is; a line is NAME = VALUE, or NAME"}
		}
	}
	return urls, nil
}

// set sets the flag that an option names, unless the command line has. An error quotes no
// value: it may be a password.
func set(f *pflag.FlagSet, given map[string]bool, option configfile.Option) error {
	flag, value, has := f.Lookup(option.Name), option.Value, option.HasValue
	if option.Short || len(option.Name) == 1 {
		flag = f.ShorthandLookup(option.Name[:1])
		if rest := option.Name[1:]; rest != "" {
			value, has = rest, true
		}
	}
	isBool := flag != nil && flag.NoOptDefVal != ""
	switch {
	case flag == nil:
		return fmt.Errorf("there is no flag %q", option.Name)
	case flag.Name == "config", flag.Name == "no-config", flag.Name == "help", flag.Name == "version":
		return fmt.Errorf("--%s is allowed on the command line only", flag.Name)
	case given[flag.Name]:
		return nil
	case !has && !isBool:
		return fmt.Errorf("%s needs a value", option.Name)
	case !has:
		value = flag.NoOptDefVal
	}
	if err := f.Set(flag.Name, value); err != nil {
		if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok && invalid.Unwrap() != nil {
			err = invalid.Unwrap()
		}
		return fmt.Errorf("%s: %w", option.Name, err)
	}
	return nil
}
