package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"

	"golang.org/x/net/netutil"

	"github.com/mlget/mlget/internal/aria2rpc"
	"github.com/mlget/mlget/internal/cli/exit"
)

// maxConns is how many connections clients may have at once.
const maxConns = 512

// socketOf is the daemon's own socket, beside its session: for this user's commands, which need
// neither its address nor its secret.
func socketOf(session string) string { return session + ".sock" }

// listen listens at ADDRESS:PORT, or at unix:PATH, of which only the user may connect. own says
// that only this machine can.
func listen(at string, hasSecret bool) (l net.Listener, own bool, err error) {
	path, isUnix := strings.CutPrefix(at, aria2rpc.UnixPrefix)
	if isUnix {
		l, err = listenUnix(path)
		if err != nil {
			return nil, false, fmt.Errorf("--rpc-listen: %w", err)
		}
		return limited(l), false, nil // a client may send any host's name
	}
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		return nil, false, exit.UsageError{Err: errors.New("--rpc-listen: want ADDRESS:PORT or unix:PATH"), Hint: "--rpc-listen 127.0.0.1:6800"}
	}
	addr, err := netip.ParseAddr(host)
	own = err == nil && addr.IsLoopback() || host == "localhost"
	if !own && !hasSecret {
		return nil, false, exit.UsageError{Err: errors.New("--rpc-listen: other machines could reach it, and there is no secret"), Hint: "--rpc-secret-file FILE"}
	}
	if l, err = net.Listen("tcp", at); err != nil {
		return nil, false, fmt.Errorf("--rpc-listen: %w", err)
	}
	return limited(l), own, nil
}

func limited(l net.Listener) net.Listener { return netutil.LimitListener(l, maxConns) }

// listenUnix listens at a socket that only the user may open; on Windows the directory's access
// control list decides. It replaces a socket that a killed process left.
func listenUnix(path string) (net.Listener, error) {
	if c, err := net.Dial("unix", path); err == nil {
		_ = c.Close()
		return nil, fmt.Errorf("%s: another process listens there", path)
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		_ = os.Remove(path) // listening says if that failed
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		_ = l.Close()
		return nil, exit.FileError{Err: err}
	}
	return l, nil
}
