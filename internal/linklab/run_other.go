//go:build !linux

package linklab

import "errors"

// elevate does nothing: there is nothing that it could help with.
func elevate([]string, streams) (elsewhere bool, status int, err error) { return false, 0, nil }

// Unsupported says why no lab can be started here.
func Unsupported() error {
	return &HintError{
		Err:  errors.New("emulated links need Linux: network namespaces and TUN devices"),
		Hint: "run it in a virtual machine or a privileged container with Linux",
	}
}

// run says that there are no network namespaces here.
func run(Config, energyOptions, []string, []string, streams) (int, error) {
	return 0, Unsupported()
}
