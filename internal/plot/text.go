package plot

import "github.com/mlget/mlget/internal/term"

// printable makes text from elsewhere harmless: controls cannot stand in XML, and
// marks of direction could make a figure say something else.
func printable(s string) string { return term.Printable(s) }
