package console

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/rewrite"
)

// WriteJSON writes a value as JSON that people can read, too: on several lines,
// and URLs as they are.
func WriteJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// Create makes a file of what write writes, all of it: what was there stays until then.
// Its errors are fileErrors.
func Create(name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	err := write(&b)
	if err == nil {
		err = rewrite.File(name, b.Bytes())
	}
	if err != nil {
		return exit.FileError{Err: err}
	}
	return nil
}
