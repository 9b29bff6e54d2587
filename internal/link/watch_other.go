//go:build !linux

package link

import "context"

// Watch returns a nil channel, which never delivers: this system does not report changes of
// links, and waiting callers have to poll.
func Watch(context.Context) (<-chan Change, error) { return nil, nil }
