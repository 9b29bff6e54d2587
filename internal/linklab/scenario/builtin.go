package scenario

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed scenarios/*.txt scenarios/files/*.txt scenarios/processor/*.txt
var builtin embed.FS //nolint:gochecknoglobals // the only form in which Go embeds files

// Where the kinds of built-in scenarios lie.
const (
	ofOneFile   = "scenarios"
	ofManyFiles = "scenarios/files"
	ofProcessor = "scenarios/processor"
)

// Names lists the scenarios that are built in for downloads of one file, in
// alphabetical order.
func Names() []string { return names(ofOneFile) }

// FilesNames lists those that are made for jobs of many files, in alphabetical
// order: servers on other continents, as in Guner and Kosar.
func FilesNames() []string { return names(ofManyFiles) }

// ProcessorNames lists those with which `linklab bench --processor` compares what programs
// take of a processor: links of constant rates.
func ProcessorNames() []string { return names(ofProcessor) }

func names(dir string) []string {
	files, err := fs.ReadDir(builtin, dir)
	if err != nil {
		return nil // cannot be: the directory is compiled in
	}
	list := make([]string, 0, len(files))
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".txt"); ok {
			list = append(list, name)
		}
	}
	return list
}

// Text is the built-in scenario of that name, of any kind, as it is written.
func Text(name string) (string, error) {
	if !strings.ContainsAny(name, "/\\") {
		for _, dir := range []string{ofOneFile, ofManyFiles, ofProcessor} {
			if text, err := builtin.ReadFile(path.Join(dir, name+".txt")); err == nil {
				return string(text), nil
			}
		}
	}
	return "", fmt.Errorf("no scenario named %q", name)
}

// Load is the scenario of that name if it is built in, else the one in the
// file of that name; the traces of a file are relative to its directory.
func Load(name string) (Scenario, error) {
	if text, err := Text(name); err == nil {
		return Parse(name, strings.NewReader(text), nil)
	}
	f, err := os.Open(name)
	if err != nil {
		if os.IsNotExist(err) && !strings.ContainsAny(name, "./\\") {
			return Scenario{}, fmt.Errorf("no scenario named %q: there are %s, and for many files %s", name,
				strings.Join(Names(), ", "), strings.Join(FilesNames(), ", "))
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
