//go:build !linux

package faults

import (
	"context"

	"github.com/mlget/mlget/internal/linklab"
)

// runCell says that there are no network namespaces here.
func runCell(context.Context, Config, Cell) (Outcome, error) {
	return Outcome{}, linklab.Unsupported()
}
