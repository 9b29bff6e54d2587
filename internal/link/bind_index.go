//go:build darwin || windows

package link

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// bindSocket ties a socket to its link by the interface's index. It must be
// the index of now: an interface that went and came back has another one.
func bindSocket(_ context.Context, fd uintptr, network string, info *Info) error {
	if info.Bind != BindIndex || info.Index <= 0 {
		return errors.New("no way to bind is known")
	}
	// The dialer says "tcp4", "tcp6", "udp4" or "udp6".
	if err := setIndex(fd, info.Index, strings.HasSuffix(network, "6")); err != nil {
		return fmt.Errorf("bind to interface %d: %w", info.Index, err)
	}
	return nil
}

// checkBind: every process may do it.
func (i *Info) checkBind(context.Context) { i.Bind = BindIndex }
