//go:build unix

package proxy

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// onHangup does something at each SIGHUP, until stop, which waits for it.
func onHangup(do func()) (stop func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	var running sync.WaitGroup
	running.Go(func() {
		for range hangups {
			do()
		}
	})
	return func() {
		signal.Stop(hangups)
		close(hangups)
		running.Wait()
	}
}
