package server

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Starter starts a process; a lab does so in the server's namespace, and out of
// reach of a Ctrl-C.
type Starter interface {
	StartProcess(cmd *exec.Cmd) error
}

// Nginx is a running nginx.
type Nginx struct {
	cmd    *exec.Cmd
	exited chan struct{}
	once   sync.Once
}

// StartNginx starts the program exe, an nginx, in one process (so that it dies as one), with its
// configuration and everything that it writes below dir, listening on the
// addresses. It does not wait for it to listen.
func StartNginx(exe string, c Config, dir string, addresses []string, in Starter) (*Nginx, error) {
	conf := filepath.Join(dir, "nginx.conf")
	text, err := nginxConf(c, dir, addresses)
	if err == nil {
		err = os.WriteFile(conf, []byte(text), 0o644)
	}
	if err != nil {
		return nil, fmt.Errorf("nginx: %w", err)
	}
	n := &Nginx{exited: make(chan struct{})}
	n.cmd = exec.Command(exe, "-p", dir, "-c", conf, "-e", filepath.Join(dir, "nginx.err"))
	if err := in.StartProcess(n.cmd); err != nil {
		return nil, fmt.Errorf("nginx: %w", err)
	}
	go func() {
		defer close(n.exited)
		_ = n.cmd.Wait() // what went wrong is in its log
	}()
	return n, nil
}

// PID is its process id.
func (n *Nginx) PID() int { return n.cmd.Process.Pid }

// Exited is closed when nginx has ended.
func (n *Nginx) Exited() <-chan struct{} { return n.exited }

// Log is what nginx wrote about its errors.
func (n *Nginx) Log() string {
	text, err := os.ReadFile(n.cmd.Args[len(n.cmd.Args)-1])
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Close ends nginx, by its process id, and waits.
func (n *Nginx) Close() error {
	n.once.Do(func() {
		_ = n.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		select {
		case <-n.exited:
		case <-time.After(3 * time.Second):
			_ = n.cmd.Process.Kill()
			<-n.exited
		}
	})
	return nil
}

// nginxConf is a configuration that serves the same URLs as the built-in
// server. Only what differs from nginx's own defaults is in it.
func nginxConf(c Config, dir string, addresses []string) (string, error) {
	root := c.Dir
	switch {
	case c.Body != nil:
		root = filepath.Dir(c.Body.Path)
	case c.Files != nil:
		root = dir // WriteFiles has made them there
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	for _, p := range []string{root, dir} {
		if strings.ContainsAny(p, "\"$\\;{}\n") {
			return "", fmt.Errorf("%q cannot stand in its configuration", p)
		}
	}
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	// It stays root, which in a user namespace is the only user that there is.
	add("daemon off;\nmaster_process off;\nuser root;\npid \"%s/nginx.pid\";\n", dir)
	add("events { worker_connections 1024; }\n")
	add("http {\n  default_type application/octet-stream;\n  access_log off;\n")
	add("  sendfile on;\n  tcp_nopush on;\n  keepalive_requests 100000;\n")
	for _, t := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		add("  %s_temp_path \"%s/%s\";\n", t, dir, t)
	}
	add("  server {\n")
	for _, a := range addresses {
		if strings.Contains(a, ":") {
			a = "[" + a + "]"
		}
		add("    listen %s:%d;\n", a, Port)
		if c.CA != nil {
			// The parameter, not the directive: older versions have only this.
			add("    listen %s:%d ssl http2;\n", a, PortTLS)
		}
	}
	if c.CA != nil {
		add("    ssl_certificate \"%s\";\n    ssl_certificate_key \"%s\";\n", c.CA.certPath, c.CA.keyPath)
		add("    ssl_protocols TLSv1.2 TLSv1.3;\n")
	}
	switch {
	// Only these: the configuration and the key lie beside them.
	case c.Body != nil:
		add("    location = /%s { root \"%s\"; }\n    location / { return 404; }\n", BodyName, root)
	case c.Files != nil:
		add("    location /%s/ { root \"%s\"; autoindex on; }\n    location / { return 404; }\n", FilesName, root)
	default:
		add("    location / { root \"%s\"; autoindex on; }\n", root)
	}
	add("  }\n}\n")
	return b.String(), nil
}
