//go:build !linux

package link

import (
	"context"
	"errors"
)

func probeNetwork(context.Context, AndroidNetwork) error {
	return errors.New("this is not Android")
}
