package linklab

import "fmt"

// HintError is an error with a line on what can be done about it.
type HintError struct {
	Err  error
	Hint string // may be empty
}

// Error is the error without the hint.
func (e *HintError) Error() string { return e.Err.Error() }

// Unwrap gives the error that is being explained.
func (e *HintError) Unwrap() error { return e.Err }

// StatusError ends the command with an exit status, when everything has been
// said by the process whose status it is.
type StatusError struct{ Status int }

// Error is the text for callers that do not know the type.
func (e *StatusError) Error() string { return fmt.Sprintf("exit status %d", e.Status) }
