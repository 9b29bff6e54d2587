//go:build !linux

package bench

import (
	"errors"

	"github.com/mlget/mlget/internal/linklab"
)

// newRunner says that there are no network namespaces here.
func newRunner(Config, map[string]string, linklab.ServerKind) (runner, error) {
	return nil, &linklab.HintError{
		Err:  errors.New("emulated links need Linux: network namespaces and TUN devices"),
		Hint: "run it in a virtual machine or a privileged container with Linux",
	}
}
