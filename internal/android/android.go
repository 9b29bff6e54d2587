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
	"os"
	"path/filepath"
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

// FwmarkdPath is where netd takes requests to tie a socket to a network.
func FwmarkdPath(root string) string { return below(root, fwmarkdSocket) }

// ResolverPath is where netd takes name queries.
func ResolverPath(root string) string { return below(root, resolverSocket) }

func below(root, path string) string {
	if root == "" {
		root = string(filepath.Separator)
	}
	return filepath.Join(root, filepath.FromSlash(path))
}
