package cli

import (
	"encoding/json"
	"io"
	"os"
)

// writeJSON writes a value as JSON that people can read, too: on several lines,
// and URLs as they are.
func writeJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// create makes a file of what write writes. Its errors are fileErrors.
func create(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return fileError{err}
	}
	err = write(f)
	if err2 := f.Close(); err == nil {
		err = err2
	}
	if err != nil {
		return fileError{err}
	}
	return nil
}
