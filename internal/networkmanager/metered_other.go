//go:build !linux || android

package networkmanager

import (
	"context"
	"errors"
)

// Ask says that there is no NetworkManager on this system.
func Ask(context.Context, string, []string) (map[string]Metered, error) {
	return nil, errors.New("there is no NetworkManager on this system")
}
