package linklab

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mlget/mlget/internal/linklab/battery"
	"github.com/mlget/mlget/internal/linklab/emu"
	"github.com/mlget/mlget/internal/linklab/scenario"
	"github.com/mlget/mlget/internal/linklab/server"
)

// Lab is a laboratory that runs.
type Lab struct {
	cfg    Config
	dir    string
	guard  *guard
	client *nsThread
	serv   *nsThread
	emu    *emu.Emulator
	http   *server.Builtin
	nginx  *server.Nginx
	body   server.Body
	ca     *server.CA

	battery *battery.Battery // nil where no link has a power model
	sysfs   string           // its directory
	model   string           // the file that describes the radios

	mu     sync.Mutex
	closed bool
	groups map[int]struct{} // process groups of commands
	err    error            // of Close
}

// Start makes a laboratory, whose server answers when it returns. The caller
// must Close it. Errors that a person can do something about are HintErrors.
func Start(c Config) (*Lab, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	l := &Lab{cfg: c, groups: map[int]struct{}{}}
	if err := l.build(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// build makes everything in order; Close takes away what there is.
func (l *Lab) build() error {
	var err error
	if l.dir, err = scratch(l.servedBytes()); err != nil {
		return err
	}
	if l.guard, err = startGuard(l.dir); err != nil {
		return err
	}
	if err := l.namespaces(); err != nil {
		return err
	}
	if err := l.connect(); err != nil {
		return err
	}
	if err := l.startBattery(); err != nil {
		return err
	}
	return l.serve()
}

// namespaces makes the two namespaces, without devices yet.
func (l *Lab) namespaces() error {
	var err error
	if l.serv, err = newNSThread(false); err != nil {
		return namespaceError(err)
	}
	if l.client, err = newNSThread(true); err != nil {
		return namespaceError(err)
	}
	rmem := map[*nsThread]int64{l.serv: receiveBuffer, l.client: cmp.Or(l.cfg.ReceiveBuffer, receiveBuffer)}
	for _, t := range []*nsThread{l.serv, l.client} {
		if err := t.do(func() error { return prepareNamespace(l.cfg.RPFilter, rmem[t]) }); err != nil {
			return namespaceError(err)
		}
		space, err := t.space()
		if err != nil {
			return err
		}
		l.guard.spaces = append(l.guard.spaces, space)
	}
	return errors.Join(l.guard.watch(l.groups), l.serv.do(addServerAddresses))
}

// connect makes the links' devices and starts to emulate.
func (l *Lab) connect() error {
	c := emu.Config{Scenario: l.cfg.Scenario, Seed: l.cfg.Seed}
	err := func() error {
		for i, k := range l.cfg.Scenario.Links {
			s := subnetOf(i, k.Name)
			var out *tun
			err := l.serv.do(func() (err error) { out, err = addServerDevice(s); return })
			if err != nil {
				return err
			}
			in, err := newClientDevice(l.client, s, l.cfg.SourceRules)
			if err != nil {
				return errors.Join(err, out.Close())
			}
			c.Ends = append(c.Ends, emu.Ends{Client: in, Server: out, Addrs: s.addrs()})
		}
		var err error
		l.emu, err = emu.Start(c)
		return err
	}()
	if err != nil {
		for _, e := range c.Ends {
			err = errors.Join(err, e.Client.Close(), e.Server.Close())
		}
	}
	return err
}

// URL is that of the body, or of the directory's root, or of the directory with
// the files, over IPv4 in clear.
func (l *Lab) URL() string { return l.url(serverIPv4, false) }

// URL6 is the same over IPv6; empty where the kernel does not know it.
func (l *Lab) URL6() string {
	if !hasIPv6() {
		return ""
	}
	return l.url(serverIPv6, false)
}

// URLTLS is the same over IPv4 with TLS; empty without Config.TLS.
func (l *Lab) URLTLS() string {
	if l.ca == nil {
		return ""
	}
	return l.url(serverIPv4, true)
}

func (l *Lab) url(address string, secure bool) string {
	name := ""
	switch {
	case l.cfg.Files != nil:
		name = server.FilesName + "/"
	case l.cfg.Dir == "":
		name = server.BodyName
	}
	return server.URL(address, name, secure)
}

// SHA256 is the body's hash in hexadecimal; empty where files are served.
func (l *Lab) SHA256() string { return l.body.SHA256 }

// Size is the body's size in bytes; 0 where files are served.
func (l *Lab) Size() int64 { return l.body.Size }

// CA is the file with the certificate that vouches for the server; empty
// without Config.TLS. It goes away with the lab.
func (l *Lab) CA() string {
	if l.ca == nil {
		return ""
	}
	return l.ca.Path
}

// Listen listens in the server's namespace, at its IPv4 address, for a server of
// the caller's own.
func (l *Lab) Listen(port uint16) (net.Listener, error) {
	var ln net.Listener
	err := l.serv.do(func() (err error) {
		at := netip.AddrPortFrom(netip.MustParseAddr(serverIPv4), port)
		ln, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
		return err
	})
	return ln, err
}

// ListenPacket is Listen for UDP.
func (l *Lab) ListenPacket(port uint16) (net.PacketConn, error) {
	var conn *net.UDPConn
	err := l.serv.do(func() (err error) {
		at := netip.AddrPortFrom(netip.MustParseAddr(serverIPv4), port)
		conn, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		return err
	})
	return conn, err
}

// Certificate is the server's with its key, for a server of the caller's own;
// the zero value without Config.TLS.
func (l *Lab) Certificate() tls.Certificate {
	if l.ca == nil {
		return tls.Certificate{}
	}
	return l.ca.Certificate()
}

// OtherCertificates are, for the same server, one that the CA has signed as well
// and one that a stranger has; zero values without Config.TLS.
func (l *Lab) OtherCertificates() (renewed, stranger tls.Certificate) {
	if l.ca == nil {
		return renewed, stranger
	}
	return l.ca.Renewed(), l.ca.Stranger()
}

// Impair makes a link treat its packets badly from now on.
func (l *Lab) Impair(link string, i emu.Impairment) error { return l.emu.Impair(link, i) }

// Dir is the lab's own directory, in memory where there is room for the body
// twice. It goes away with the lab, with all that is in it.
func (l *Lab) Dir() string { return l.dir }

// Scenario is what the lab plays, with all defaults filled in.
func (l *Lab) Scenario() scenario.Scenario { return l.cfg.Scenario }

// Links are the names of the client's devices, in order.
func (l *Lab) Links() []string {
	names := make([]string, 0, len(l.cfg.Scenario.Links))
	for _, k := range l.cfg.Scenario.Links {
		names = append(names, k.Name)
	}
	return names
}

// Event makes something happen now, written as in a scenario without the
// time: "wlan0 down", "wlan0 rate 2".
func (l *Lab) Event(text string) error {
	e, err := scenario.ParseEvent(text)
	if err != nil {
		return err
	}
	return l.emu.Apply(e)
}

// Stats counts what each link has carried so far.
func (l *Lab) Stats() []emu.LinkStats { return l.emu.Stats() }

// Elapsed is the time since the client's first packet over any link, which is
// when the scenario's events begin to count.
func (l *Lab) Elapsed() time.Duration { return l.emu.Elapsed() }

// InClient runs f on a thread in the client's namespace: sockets that f makes
// itself, not in another goroutine, are the client's, and may be used anywhere
// later. f should be short: commands wait for it. It must not call back into
// InClient or start commands.
func (l *Lab) InClient(f func() error) error { return l.client.do(f) }

// InServer is the same in the server's namespace.
func (l *Lab) InServer(f func() error) error { return l.serv.do(f) }

// environment is what a command is told, besides what this process has. No
// proxy can be reached from the namespace, so none is named.
func (l *Lab) environment() []string {
	var env []string
	for _, kv := range os.Environ() {
		key, _, _ := strings.Cut(kv, "=")
		if !strings.HasSuffix(strings.ToLower(key), "_proxy") && !strings.HasPrefix(key, "LINKLAB_") {
			env = append(env, kv)
		}
	}
	env = append(env,
		"LINKLAB_URL="+l.URL(),
		"LINKLAB_URL6="+l.URL6(),
		"LINKLAB_LINKS="+strings.Join(l.Links(), ","),
	)
	switch {
	case l.cfg.Files != nil:
		env = append(env, l.filesEnvironment()...)
	case l.cfg.Dir == "":
		env = append(env, "LINKLAB_SHA256="+l.SHA256(), fmt.Sprintf("LINKLAB_SIZE=%d", l.Size()))
	}
	if l.sysfs != "" {
		env = append(env, "LINKLAB_SYSFS="+l.sysfs, "LINKLAB_ENERGY_MODEL="+l.model)
	}
	if l.ca != nil {
		env = append(env, "LINKLAB_URL_TLS="+l.URLTLS(), "LINKLAB_CA="+l.CA())
	}
	return env
}

// Close ends the commands that still run, the server and the links, and
// removes everything. It may be called again and from several goroutines.
func (l *Lab) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return l.err
	}
	l.closed = true
	for g := range l.groups {
		_ = syscall.Kill(-g, syscall.SIGKILL) // it may have ended
	}
	var errs []error
	if l.nginx != nil {
		errs = append(errs, l.nginx.Close())
	}
	if l.guard != nil {
		evict(l.guard.spaces)
	}
	if l.http != nil {
		errs = append(errs, l.http.Close())
	}
	if l.battery != nil {
		errs = append(errs, l.battery.Close())
	}
	if l.emu != nil {
		errs = append(errs, l.emu.Close())
	}
	for _, t := range []*nsThread{l.client, l.serv} {
		if t != nil {
			t.end()
		}
	}
	switch {
	case l.guard != nil:
		errs = append(errs, l.guard.close())
	case l.dir != "":
		errs = append(errs, os.RemoveAll(l.dir))
	}
	l.err = errors.Join(errs...)
	return l.err
}
