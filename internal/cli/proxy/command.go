// Package proxy is the command that carries other programs' connections over all links.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/get"
	"github.com/mlget/mlget/internal/cli/measure"
	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/plan"
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

// options is what the flags say.
type options struct {
	listen     string
	allow      []string
	auth       string
	placement  string
	affinity   string
	energy     string
	modelFile  string
	grace      time.Duration
	links      []string
	linkSpecs  []string
	requireAll bool
	ipv4, ipv6 bool
	timeout    time.Duration
	verbose    bool
}

// NewCommand makes the command.
func NewCommand(stdio console.IO) *cobra.Command {
	o := new(options)
	cmd := &cobra.Command{
		Use:   "proxy",
		Short: "Carry other programs' connections over all links",
		Long: `proxy lets browsers and other programs use all links: each of their connections
goes over the link that will serve it soonest, by what the link was seen to carry,
its round trip and what its other connections take. One port speaks HTTP (CONNECT,
too), SOCKS5, SOCKS4 and SOCKS4a. TLS is carried as it is.`,
		Example: `  mlget proxy -l wlan0,rmnet0
  curl -x http://127.0.0.1:8118 https://example.org/
  curl -x socks5h://127.0.0.1:8118 https://example.org/`,
		Args: flags.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), stdio) },
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
	f.StringVar(&o.placement, "placement", string(proxy.Measured), "how connections are placed on links: `WAY`")
	flags.Detail(f, "placement", "measured, or round-robin (by turns, for comparison).")
	f.StringVar(&o.affinity, "affinity", affinityHost, "what keeps connections on a link: `KIND`")
	flags.Detail(f, "affinity", "host: a client's connections to a host stay on one link, as sites tie sessions to addresses, unless four of them are busy; none: each is placed by itself.")
	f.StringVar(&o.energy, "energy", "", "`POLICY` of costly links: off, emtcp, min-energy")
	flags.Detail(f, "energy", "emtcp lets costly links carry 0.24 of all bytes (emtcp=SHARE: another part); min-energy uses them where no other link can be.")
	flags.NameVar(f, &o.modelFile, "energy-model", "", "`FILE` that describes this device's radios")
	flags.DurationVar(f, &o.grace, "grace", "", 10*time.Second, "time for connections to finish at the end")
	f.StringSliceVarP(&o.links, "links", "l", []string{link.Auto}, "names, kinds, all, or auto")
	f.Lookup("links").Usage = "`LIST` of names, wifi, cellular, all (default auto)"
	f.Lookup("links").DefValue = "[]"
	f.StringArrayVar(&o.linkSpecs, "link", nil, "what is known of a link: `NAME,KEY=VALUE`")
	flags.Detail(f, "link", "bandwidth (bytes/s), cap (bytes), tech, role (primary, backup), dns, metered, as in a download.")
	f.BoolVar(&o.requireAll, "require-all-links", false, "fail if a named link cannot be used")
	f.BoolVarP(&o.ipv4, "ipv4", "4", false, "IPv4 only")
	f.BoolVarP(&o.ipv6, "ipv6", "6", false, "IPv6 only")
	flags.DurationVar(f, &o.timeout, "connect-timeout", "", 15*time.Second, "for a connection over a link")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say more")
}

// run is the proxy from its flags to its end.
func (o *options) run(ctx context.Context, stdio console.IO) error {
	warn := func(important bool, text string) {
		if important || o.verbose {
			_, _ = io.WriteString(stdio.Err, "mlget: "+term.Printable(text)+"\n")
		}
	}
	cfg, err := o.config()
	if err != nil {
		return err
	}
	r := &roster{options: o, system: link.NewSystem(""), warn: warn}
	if r.specs, err = o.specs(); err != nil {
		return err
	}
	if r.models, err = measure.Models(o.modelFile); err != nil {
		return exit.FileError{Err: fmt.Errorf("--energy-model: %w", err)}
	}
	chosen, err := r.choose(ctx)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", o.listen)
	if err != nil {
		return exit.UsageError{Err: fmt.Errorf("--listen: %w", err), Hint: "--listen with another port; with port 0, one that is free"}
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		cfg.Self = tcp.AddrPort()
	}
	r.proxy = proxy.New(cfg)
	for _, info := range chosen {
		if info.Metered != link.MeteredNo {
			r.paid = append(r.paid, info.Name)
		}
		r.join(info)
	}
	_, _ = fmt.Fprintf(stdio.Err, "mlget: proxy at %s: http, socks5, socks4\n", l.Addr())
	stop := r.watch(ctx)
	defer stop()
	err = r.proxy.Serve(ctx, l)
	for _, s := range r.proxy.Links() {
		warn(false, fmt.Sprintf("link %s: %d connections, %s up, %s down", s.Name, s.Placed, units.Bytes(s.Up), units.Bytes(s.Down)))
	}
	return err
}

// config checks the flags.
func (o *options) config() (proxy.Config, error) {
	cfg := proxy.Config{Placement: proxy.Placement(o.placement), AffinityHost: o.affinity == affinityHost, Grace: o.grace}
	var err error
	if o.links, err = flags.NamedLinks(o.links); err != nil {
		return cfg, err
	}
	if err := errors.Join(
		flags.OnlyOf("--placement", []string{string(proxy.Measured), string(proxy.RoundRobin)}, o.placement),
		flags.OnlyOf("--affinity", []string{affinityHost, affinityNone}, o.affinity),
	); err != nil {
		return cfg, err
	}
	if cfg.Energy, err = parseEnergy(o.energy); err != nil {
		return cfg, err
	}
	for _, text := range o.allow {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return cfg, exit.UsageError{Err: fmt.Errorf("--allow %s: no network", text), Hint: "--allow 192.168.1.0/24"}
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

// checkListen refuses to serve other machines where nobody has said which.
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

// specs reads the --link flags, by name.
func (o *options) specs() (map[string]link.Spec, error) {
	specs := make(map[string]link.Spec, len(o.linkSpecs))
	for _, text := range o.linkSpecs {
		s, err := link.ParseSpec(text)
		_, twice := specs[s.Name]
		switch {
		case err != nil:
			return nil, exit.UsageError{Err: err}
		case twice:
			return nil, exit.Usagef("--link %s: the link is described twice", s.Name)
		case s.Rate > 0 || s.Proxy != "" || s.Via.IsValid():
			return nil, exit.Usagef("--link %s: rate=, proxy= and via= are for downloads", s.Name)
		case s.Plan != plan.Plan{} || s.Window != plan.Window{}:
			return nil, exit.Usagef("--link %s: window= and a cap= with a period are for downloads; cap=SIZE is for this run", s.Name)
		}
		specs[s.Name] = s
	}
	return specs, nil
}

// family is which addresses are connected to.
func (o *options) family() link.Family {
	switch {
	case o.ipv4 && !o.ipv6:
		return link.FamilyIPv4
	case o.ipv6 && !o.ipv4:
		return link.FamilyIPv6
	}
	return link.FamilyAny
}

// choose finds the links to begin with.
func (r *roster) choose(ctx context.Context) ([]link.Info, error) {
	infos, err := r.system.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", link.ErrNoLink, err)
	}
	usable, rejected, err := link.Choose(link.Apply(infos, r.specs), r.options.links)
	get.TellOfCosts(usable, rejected, r.options.links, r.warn)
	for _, l := range rejected {
		if l.Named && r.options.requireAll {
			return nil, fmt.Errorf("%w: %s: %s", link.ErrNoLink, l.Name, l.Why)
		}
		if l.Metered == link.MeteredNo {
			r.warn(l.Named, fmt.Sprintf("link %s is not used: %s", l.Name, l.Why))
		}
	}
	return usable, err
}

// termsOf are the terms on which a link is used.
func termsOf(l *link.Link, models energy.Models) proxy.Terms {
	spec := l.Spec()
	t := proxy.Terms{Backup: spec.Role == link.RoleBackup, Cap: spec.Cap, Bandwidth: spec.Bandwidth}
	if radio, ok := models.Of(l.Info().Name, string(l.Info().Tech)); ok && spec.Role != link.RolePrimary {
		t.Costly = costly(radio)
	}
	return t
}

func named(all []link.Info, name string) int {
	return slices.IndexFunc(all, func(i link.Info) bool { return i.Name == name })
}
