//go:build !linux

package linklab

import (
	"errors"
	"io"
)

// streams are those of the process that a command is run for.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run says that there are no network namespaces here.
func run(Config, []string, []string, streams) (int, error) {
	return 0, &HintError{
		Err:  errors.New("emulated links need Linux: network namespaces and TUN devices"),
		Hint: "run it in a virtual machine or a privileged container with Linux",
	}
}
