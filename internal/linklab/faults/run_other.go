//go:build !linux

package faults

import (
	"context"
	"errors"

	"github.com/mlget/mlget/internal/linklab"
)

// runCell says that there are no network namespaces here.
func runCell(context.Context, Config, Cell) (Outcome, error) {
	return Outcome{}, &linklab.HintError{
		Err:  errors.New("emulated links need Linux: network namespaces and TUN devices"),
		Hint: "run it in a virtual machine or a privileged container with Linux",
	}
}
