package linklab

// HintError is an error with a line on what can be done about it.
type HintError struct {
	Err  error
	Hint string // may be empty
}

// Error is the error without the hint.
func (e *HintError) Error() string { return e.Err.Error() }

// Unwrap gives the error that is being explained.
func (e *HintError) Unwrap() error { return e.Err }
