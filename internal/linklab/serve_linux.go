package linklab

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"syscall"
	"time"

	"github.com/mlget/mlget/internal/linklab/server"
)

// serverAddresses are those that the server listens on.
func serverAddresses() []string {
	if hasIPv6() {
		return []string{serverIPv4, serverIPv6}
	}
	return []string{serverIPv4}
}

// serve starts the web server.
func (l *Lab) serve() error {
	c := server.Config{Dir: l.cfg.Dir}
	var err error
	switch {
	case l.cfg.Files != nil:
		c.Files = l.cfg.Files
		if err := l.layOut(); err != nil {
			return err
		}
	case c.Dir == "":
		if l.body, err = server.WriteBody(l.dir, l.cfg.Size); err != nil {
			return err
		}
		c.Body = &l.body
	}
	if l.cfg.TLS {
		if l.ca, err = server.NewCA(l.dir, serverAddresses()); err != nil {
			return err
		}
		c.CA = l.ca
	}
	if l.cfg.Server == ServerNginx {
		return l.serveNginx(c)
	}
	var plain, secure []net.Listener
	err = l.serv.do(func() error {
		for _, a := range serverAddresses() {
			for _, k := range []struct {
				port int
				to   *[]net.Listener
			}{{server.Port, &plain}, {server.PortTLS, &secure}} {
				if k.port == server.PortTLS && c.CA == nil {
					continue
				}
				at := netip.AddrPortFrom(netip.MustParseAddr(a), uint16(k.port))
				ln, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
				if err != nil {
					return err
				}
				*k.to = append(*k.to, ln)
			}
		}
		return nil
	})
	if err != nil {
		for _, ln := range append(plain, secure...) {
			err = errors.Join(err, ln.Close())
		}
		return fmt.Errorf("listen: %w", err)
	}
	l.http = server.StartBuiltin(c, plain, secure)
	return nil
}

// ErrNoNginx says that nginx is not installed.
var ErrNoNginx = errors.New("nginx is not installed")

// serveNginx starts nginx and waits until it listens.
func (l *Lab) serveNginx(c server.Config) error {
	exe := Find("nginx")
	if exe == "" {
		return &HintError{Err: ErrNoNginx, Hint: "install nginx, or use --server builtin"}
	}
	var err error
	if l.nginx, err = server.StartNginx(exe, c, l.dir, serverAddresses(), inNamespace{l.serv}); err != nil {
		return err
	}
	port := server.Port
	for deadline := time.Now().Add(5 * time.Second); ; {
		err := l.serv.do(func() error {
			// An address without names or a deadline is dialled on this thread.
			at := netip.AddrPortFrom(netip.MustParseAddr(serverIPv4), uint16(port))
			conn, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(at))
			if err != nil {
				return err
			}
			return conn.Close()
		})
		if err == nil {
			return nil
		}
		select {
		case <-l.nginx.Exited():
			return fmt.Errorf("nginx ended at once: %s", l.nginx.Log())
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("nginx does not listen: %w", err)
		}
	}
}

// inNamespace starts processes in a namespace, each in a process group of its
// own; they do not outlive its thread.
type inNamespace struct{ t *nsThread }

// StartProcess starts the command.
func (n inNamespace) StartProcess(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr.Setpgid = true
	return n.t.do(cmd.Start)
}
