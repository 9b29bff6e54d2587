package exit

import (
	"errors"
	"io"
	"syscall"

	"github.com/mlget/mlget/internal/term"
)

// Tell prints an error as one line, and a hint where there is one.
func Tell(w io.Writer, err error) int {
	if err == nil {
		return OK
	}
	code, hint := Classify(err)
	var said PrintedError
	// A reader that has seen enough, as in mlget report | head, need not be told.
	if !errors.As(err, &said) && !errors.Is(err, syscall.EPIPE) {
		Print(w, err, hint)
	}
	return code
}

// Print prints an error as one line, and its hint, unless it is empty.
func Print(w io.Writer, err error, hint string) {
	text := "mlget: " + term.Printable(err.Error()) + "\n"
	if hint != "" {
		text += "mlget: hint: " + hint + "\n"
	}
	_, _ = io.WriteString(w, text) // standard error is gone: there is no other way to report it
}
