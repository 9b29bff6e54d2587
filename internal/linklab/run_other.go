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

// Elevate does nothing: there is nothing that it could help with.
func Elevate([]string, io.Reader, io.Writer, io.Writer) (done bool, status int, err error) {
	return false, 0, nil
}

// run says that there are no network namespaces here.
func run(Config, energyOptions, []string, []string, streams) (int, error) {
	return 0, &HintError{
		Err:  errors.New("emulated links need Linux: network namespaces and TUN devices"),
		Hint: "run it in a virtual machine or a privileged container with Linux",
	}
}
