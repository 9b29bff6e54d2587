package faults

import (
	_ "embed"
	"io"
	"strings"
)

//go:embed page.md
var pageText string

// WritePage writes docs/reliability.md: what is promised, and the tables.
func (s Summary) WritePage(w io.Writer) error {
	var tables strings.Builder
	if err := s.WriteTable(&tables); err != nil {
		return err
	}
	_, err := io.WriteString(w, strings.Replace(pageText, "TABLES\n", tables.String(), 1))
	return err
}
