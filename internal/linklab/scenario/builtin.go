package scenario

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed scenarios/*.txt
var builtin embed.FS //nolint:gochecknoglobals // the only form in which Go embeds files

// Names lists the scenarios that are built in, in alphabetical order.
func Names() []string {
	files, err := fs.ReadDir(builtin, "scenarios")
	if err != nil {
		return nil // cannot be: the directory is compiled in
	}
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".txt"))
	}
	return names
}

// Text is the built-in scenario of that name as it is written.
func Text(name string) (string, error) {
	text, err := builtin.ReadFile("scenarios/" + name + ".txt")
	if err != nil {
		return "", fmt.Errorf("no scenario named %q", name)
	}
	return string(text), nil
}

// Load is the scenario of that name if it is built in, else the one in the
// file of that name; the traces of a file are relative to its directory.
func Load(name string) (Scenario, error) {
	if text, err := Text(name); err == nil {
		return Parse(name, strings.NewReader(text), nil)
	}
	f, err := os.Open(name)
	if err != nil {
		if os.IsNotExist(err) && !strings.ContainsAny(name, "./") {
			return Scenario{}, fmt.Errorf("no scenario named %q: there are %s", name, strings.Join(Names(), ", "))
		}
		return Scenario{}, fmt.Errorf("scenario: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return Parse(filepath.Base(name), f, Dir(filepath.Dir(name)))
}

// Dir opens files by any path, relative ones from this directory: what a
// person who wrote the scenario may name, they may read.
type Dir string

// Open opens the named file.
func (d Dir) Open(name string) (fs.File, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(string(d), name)
	}
	return os.Open(name)
}
