//go:build !linux

package cli

// systemFacts are none: what there is to know of other systems is their name.
func systemFacts() []fact { return nil }
