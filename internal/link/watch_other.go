//go:build !linux

package link

import "context"

// Watch gives a nil channel, which never delivers: changes of links are not
// reported on this system, and whoever waits for a link has to look again.
func Watch(context.Context) (<-chan Change, error) { return nil, nil }
