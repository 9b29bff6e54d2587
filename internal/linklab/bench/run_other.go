//go:build !linux

package bench

import "github.com/mlget/mlget/internal/linklab"

// newRunner says that there are no network namespaces here.
func newRunner(Config, map[string]string, linklab.ServerKind) (runner, error) {
	return nil, linklab.Unsupported()
}
