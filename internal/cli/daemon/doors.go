package daemon

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/mlget/mlget/internal/aria2rpc"
)

// doors are the servers of a daemon: the one that clients were promised, and one at the
// daemon's own socket.
type doors struct {
	http   []*http.Server
	failed chan error
}

// newWebServer makes a server that gives up clients which take their time: they would hold the
// connections that others want. A WebSocket has no such limits.
func newWebServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 2 * time.Minute,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 1 << 16,
	}
}

func (d *doors) open(rpc *aria2rpc.Server, l net.Listener) {
	web := newWebServer(rpc)
	d.http = append(d.http, web)
	go func() { d.failed <- web.Serve(l) }()
}

// serve serves at l, and at the daemon's own socket if there can be one, until a client has
// called shutdown, ctx ends or a server fails.
func serve(ctx context.Context, rpc *aria2rpc.Server, l net.Listener, socket string, warn func(text string)) (err error) {
	d := doors{failed: make(chan error, 2)} // room for both servers' errors
	d.open(rpc, l)
	if own, failed := listenUnix(socket); failed == nil {
		d.open(rpc.Trusted(), limited(own))
	} else {
		warn(failed.Error() + ": mlget add and mlget status need --rpc")
	}
	select {
	case err = <-d.failed:
	case <-rpc.Stopped():
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	for _, web := range d.http {
		_ = web.Shutdown(ending) // connections that are still open are cut
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
