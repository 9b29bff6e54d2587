//go:build !linux

package cli

// fact is something about the system, for doctor.
type fact struct{ name, value string }

func systemFacts() []fact { return nil }
