//go:build !linux

package doctor

import "context"

// systemFacts are none: what there is to know of other systems is their name.
func systemFacts(context.Context) []fact { return nil }

// property and settingOf are Android's.
func property(context.Context, string) string  { return "" }
func settingOf(context.Context, string) string { return "" }
