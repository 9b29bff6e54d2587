// Package proxy is the command that carries other programs' connections over all links.
package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/get"
	"github.com/mlget/mlget/internal/cli/program"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/metrics"
	"github.com/mlget/mlget/internal/proxy"
	"github.com/mlget/mlget/internal/term"
	"github.com/mlget/mlget/internal/units"
	"github.com/mlget/mlget/pkg/scheduler"
)

// The words of --affinity.
const (
	affinityHost = "host"
	affinityNone = "none"
)

// options holds the command's flags.
type options struct {
	listen    string
	allow     []string
	auth      string
	placement string
	affinity  string
	split     flags.Size
	energy    string
	modelFile string
	grace     time.Duration
	links     get.LinkFlags
	timeout   time.Duration
	verbose   bool
	file      string // of options
}

// Name is the command's.
const Name = "proxy"

// NewCommand makes the command.
func NewCommand(stdio console.IO) *cobra.Command {
	o := new(options)
	cmd := &cobra.Command{
		Use:   Name,
		Short: "Carry other programs' connections over all links",
		Long: `proxy lets browsers and other programs use all links: each of their connections
goes over the link that will serve it soonest, by what the link was seen to carry,
its round trip and what its other connections take. One port speaks HTTP (CONNECT,
too), SOCKS5, SOCKS4 and SOCKS4a. TLS is carried as it is. Large files in clear come
over all links at once, and others through the gateway: http://PROXY/https://HOST/PATH.`,
		Example: `  mlget proxy -l wlan0,rmnet0
  curl -x http://127.0.0.1:8118 https://example.org/
  curl -x socks5h://127.0.0.1:8118 https://example.org/`,
		Args: flags.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			now, err := o.reread(cmd.Flags())
			if err != nil {
				return err
			}
			return now.run(cmd.Context(), func() (*options, error) { return o.reread(cmd.Flags()) }, stdio)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func (o *options) addFlags(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&o.listen, "listen", "127.0.0.1:8118", "`ADDRESS` and port to listen at")
	f.StringSliceVar(&o.allow, "allow", nil, "let machines of these networks (`CIDR`) use it")
	f.Lookup("allow").DefValue = "[]"
	flags.Detail(f, "allow", "This machine always may, the others only these. They do not reach this machine through the proxy, nor link-local addresses.")
	flags.NameVar(f, &o.auth, "proxy-auth", "", "ask for a user and password of `FILE`")
	flags.Detail(f, "proxy-auth", "Lines of USER:PASSWORD. SOCKS4 has no passwords and is refused then. With it all machines may use the proxy, or those of --allow.")
	f.StringVar(&o.placement, "placement", string(proxy.Measured), "choose links for connections by `WAY`")
	flags.Detail(f, "placement", "measured, or round-robin (by turns, for comparison).")
	f.StringVar(&o.affinity, "affinity", affinityHost, "keep connections on a link by `KIND`")
	flags.Detail(f, "affinity", "host: a client's connections to a host stay on one link, as sites tie sessions to addresses, unless four of them are busy; none: each is placed by itself.")
	o.split = flags.Size{Bytes: 4 << 20, None: true, Text: "4M"}
	f.Var(&o.split, "split", "least size of http files to split over all links (0: none)")
	flags.Detail(f, "split", "Of files in clear whose server has ranges and a validator, and of those through the gateway, http://PROXY/https://HOST/PATH.")
	f.StringVar(&o.energy, "energy", "", "save energy by `POLICY`: off, emtcp, min-energy")
	flags.Detail(f, "energy", "emtcp lets costly links carry 0.24 of all bytes (emtcp=SHARE: another part); min-energy uses them where no other link can be.")
	flags.NameVar(f, &o.modelFile, "energy-model", "", "`FILE` that describes this device's radios")
	flags.DurationVar(f, &o.grace, "grace", "", 10*time.Second, "time for connections to finish at the end")
	o.links.AddFlags(f, "bandwidth, rate (bytes/s), cap (bytes; 50G/month lasts over runs), window, tech, role, dns, metered, via, as in a download.")
	flags.DurationVar(f, &o.timeout, "connect-timeout", "", 15*time.Second, "longest wait for a connection over a link")
	flags.NameVar(f, &o.file, "config", "K", "read flags from `FILE`, NAME = VALUE a line")
	flags.Detail(f, "config", "What the command line says wins. SIGHUP reads it again, and --proxy-auth; only --listen needs a new start.")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say more")
}

// reread reads the command line, in f, and the configuration file again.
func (o *options) reread(given *pflag.FlagSet) (*options, error) {
	now, f := new(options), pflag.NewFlagSet(Name, pflag.ContinueOnError)
	now.addFlags(f)
	var err error
	given.Visit(func(flag *pflag.Flag) {
		to := f.Lookup(flag.Name)
		if to == nil { // --help
			return
		}
		to.Changed = true
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			err = errors.Join(err, to.Value.(pflag.SliceValue).Replace(list.GetSlice())) //nolint:forcetypeassert // they are defined alike
			return
		}
		err = errors.Join(err, f.Set(flag.Name, flag.Value.String()))
	})
	if err == nil && now.file != "" {
		err = get.ReadFlags(f, now.file)
	}
	return now, err
}

// run is the proxy from its flags to its end. reread tells the flags as they are later.
func (o *options) run(ctx context.Context, reread func() (*options, error), stdio console.IO) error {
	var mu sync.Mutex
	warn := func(important bool, text string) {
		if important || o.verbose {
			mu.Lock()
			defer mu.Unlock()
			_, _ = io.WriteString(stdio.Err, "mlget: "+term.Printable(text)+"\n")
		}
	}
	cfg, err := o.config()
	if err != nil {
		return err
	}
	page := metrics.NewProxy(program.Version(), runtime.Version())
	all := &links{warn: warn}
	cfg.Spreader, cfg.Metrics = all, page
	args, err := o.shared()
	if err != nil {
		return err
	}
	if cfg.TLS, err = tlsOf(args); err != nil {
		return err
	}
	l, err := net.Listen("tcp", o.listen)
	if err != nil {
		return exit.UsageError{Err: fmt.Errorf("--listen: %w", err), Hint: "--listen with another port; with port 0, one that is free"}
	}
	defer l.Close() //nolint:errcheck // Serve closes it first
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		cfg.Self = tcp.AddrPort()
	}
	server := proxy.New(cfg)
	page.Show(server)
	all.server = server
	if err := all.use(ctx, args); err != nil {
		return err
	}
	defer all.close()
	if o.file != "" {
		stop := onHangup(func() {
			now, err := reread()
			if err == nil {
				err = now.takeOver(ctx, server, all, page)
			}
			if err != nil {
				warn(true, "the flags stay as they were: "+err.Error())
				return
			}
			warn(true, "the flags of "+o.file+" hold now")
		})
		defer stop()
	}
	_, _ = fmt.Fprintf(stdio.Err, "mlget: proxy at %s: http, socks5, socks4\n", l.Addr())
	err = server.Serve(ctx, l)
	for _, s := range server.Links() {
		warn(false, fmt.Sprintf("link %s: %d connections, %s up, %s down", s.Name, s.Placed, units.Bytes(s.Up), units.Bytes(s.Down)))
	}
	return err
}

// takeOver makes the flags hold for a server that is there.
func (o *options) takeOver(ctx context.Context, server *proxy.Server, all *links, page http.Handler) error {
	cfg, err := o.config()
	if err != nil {
		return err
	}
	cfg.Spreader, cfg.Metrics = all, page
	args, err := o.shared()
	if err != nil {
		return err
	}
	if err := all.use(ctx, args); err != nil {
		return err
	}
	server.Configure(cfg)
	return nil
}

// tlsOf is how the servers of a download with these flags are verified.
func tlsOf(args []string) (*tls.Config, error) {
	o, err := get.Parse(args)
	if err != nil {
		return nil, err
	}
	web, err := o.Web()
	return web.TLS, err
}

// shared are the flags of a download over the same links.
func (o *options) shared() ([]string, error) {
	for _, text := range o.links.Specs {
		s, err := link.ParseSpec(text)
		if err != nil {
			return nil, exit.UsageError{Err: err}
		}
		if s.Proxy != "" {
			return nil, exit.UsageError{
				Err:  fmt.Errorf("--link %s: proxy= is for downloads", s.Key()),
				Hint: "mlget --link NAME,proxy=URL downloads through it; connections of other programs go to their hosts themselves",
			}
		}
	}
	args, err := o.links.Args()
	if err != nil {
		return nil, err
	}
	args = append(args, "--power=none", "--connect-timeout="+o.timeout.String(), "--energy-model="+o.modelFile)
	if o.energy != "" {
		args = append(args, "--energy="+o.energy)
	}
	return args, nil
}

// config checks the flags.
func (o *options) config() (proxy.Config, error) {
	cfg := proxy.Config{SpreadFrom: o.split.Bytes, Placement: proxy.Placement(o.placement), AffinityHost: o.affinity == affinityHost, Grace: o.grace}
	if err := errors.Join(
		flags.OnlyOf("--placement", []string{string(proxy.Measured), string(proxy.RoundRobin)}, o.placement),
		flags.OnlyOf("--affinity", []string{affinityHost, affinityNone}, o.affinity),
	); err != nil {
		return cfg, err
	}
	var err error
	if cfg.Energy, err = parseEnergy(o.energy); err != nil {
		return cfg, err
	}
	for _, text := range o.allow {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return cfg, exit.UsageError{Err: fmt.Errorf("--allow %s: not a network", text), Hint: "--allow 192.168.1.0/24"}
		}
		cfg.Allow = append(cfg.Allow, p.Masked())
	}
	if o.auth != "" {
		if cfg.Users, err = readUsers(o.auth); err != nil {
			return cfg, exit.FileError{Err: fmt.Errorf("--proxy-auth: %w", err)}
		}
		if len(cfg.Allow) == 0 {
			cfg.Allow = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
		}
	}
	return cfg, o.checkListen(cfg)
}

// checkListen refuses an address that other machines can reach if no flag says which may use
// it.
func (o *options) checkListen(cfg proxy.Config) error {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return exit.UsageError{Err: fmt.Errorf("--listen %s: want ADDRESS:PORT", o.listen), Hint: "--listen 127.0.0.1:8118"}
	}
	addr, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && addr.IsLoopback() || len(cfg.Allow) > 0 {
		return nil
	}
	return exit.UsageError{
		Err:  fmt.Errorf("--listen %s: other machines could use the proxy", o.listen),
		Hint: "--allow CIDR says which, --proxy-auth FILE asks for a password",
	}
}

func readUsers(name string) (*proxy.Users, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	users, err := proxy.ReadUsers(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return users, nil
}

func parseEnergy(text string) (proxy.Energy, error) {
	if text == "" {
		return proxy.Energy{}, nil
	}
	if err := flags.CheckEnergy(text); err != nil {
		return proxy.Energy{}, err
	}
	mode, share, err := scheduler.ParseEnergy(text)
	if err != nil {
		return proxy.Energy{}, err
	}
	switch mode {
	case scheduler.EnergyEMTCP:
		return proxy.Energy{Spare: true, Share: share}, nil
	case scheduler.EnergyMin:
		return proxy.Energy{Spare: true}, nil
	case scheduler.EnergyOff:
	}
	return proxy.Energy{}, nil
}
