//go:build !linux

package cli

import "context"

// systemFacts are none: what there is to know of other systems is their name.
func systemFacts(context.Context) []fact { return nil }
