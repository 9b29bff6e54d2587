//go:build !linux

package power

import "context"

// termuxProgram: there is no Termux outside Android.
func termuxProgram(string) (string, error) { return "", errNotTermux }

func runBounded(context.Context, []string) ([]byte, error) { return nil, errNotTermux }
