package cli

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/mlget/mlget/internal/rewrite"
)

// writeJSON writes a value as JSON that people can read, too: on several lines,
// and URLs as they are.
func writeJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// create makes a file of what write writes, all of it: what was there stays until then.
// Its errors are fileErrors.
func create(name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	err := write(&b)
	if err == nil {
		err = rewrite.File(name, b.Bytes())
	}
	if err != nil {
		return fileError{err}
	}
	return nil
}
