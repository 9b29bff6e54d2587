// Package android speaks to those parts of Android that decide which network
// a socket uses: the routing rules that netd writes, netd's own sockets, and
// the phone's certificates' neighbours in the file tree. It knows no link and
// no download.
//
// Nothing here was tried on a phone. It follows the source of Android 8 to 15
// (system/netd, packages/modules/DnsResolver), named where it is used.
//
// Contract: everything is safe for concurrent use, and nothing owns a
// goroutine. No call is made for which Android's filter of system calls kills
// an app.
package android

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
)

// Where Android shows itself, below the root of the file system.
const (
	propertiesDir  = "dev/__properties__"
	fwmarkdSocket  = "dev/socket/fwmarkd"
	resolverSocket = "dev/socket/dnsproxyd"
)

// Here says whether the machine whose files are below root runs Android. root
// is "" for the real one. What the program was built for does not matter: on
// 32-bit phones it is a static linux/arm one.
func Here(root string) bool {
	_, err := os.Stat(below(root, propertiesDir))
	return err == nil
}

// Fwmarkd is netd's socket for requests to tie a socket to a network.
type Fwmarkd struct {
	path string

	mu   sync.Mutex
	size int // bytes of a request as this netd takes it; 0: not found out yet
}

// NewFwmarkd returns the client of the netd that listens at path.
func NewFwmarkd(path string) *Fwmarkd { return &Fwmarkd{path: path} }

// FwmarkdPath is where netd takes requests to tie a socket to a network.
func FwmarkdPath(root string) string { return below(root, fwmarkdSocket) }

// ResolverPath is where netd takes name queries.
func ResolverPath(root string) string { return below(root, resolverSocket) }

// CheckResolver says whether Android's resolver at path can be asked: by
// connecting to it, since apps and adb shell may write to netd's sockets but not
// look at them (SELinux: write without getattr). fs.ErrNotExist means that there
// is none; fs.ErrPermission that this program may not ask it.
func CheckResolver(ctx context.Context, path string) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return connectError(ErrResolver, err)
	}
	return c.Close()
}

// connectError says why one of netd's sockets cannot be connected to.
func connectError(who, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return &socketError{who, "permission denied; Android lets only programs with the permission INTERNET ask", err}
	case errors.Is(err, fs.ErrNotExist):
		return &socketError{who, "its socket is not there", err}
	}
	return &socketError{who, err.Error(), err}
}

// socketError is a failure to reach one of netd's sockets.
type socketError struct {
	who   error // ErrResolver or ErrUnreachable
	why   string
	cause error
}

func (e *socketError) Error() string   { return e.who.Error() + ": " + e.why }
func (e *socketError) Unwrap() []error { return []error{e.who, e.cause} }

func below(root, path string) string {
	if root == "" {
		root = string(filepath.Separator)
	}
	return filepath.Join(root, filepath.FromSlash(path))
}
