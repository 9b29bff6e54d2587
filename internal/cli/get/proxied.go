package get

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpproxy"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/link"
)

// proxyHint says what proxies may be.
const proxyHint = "-x [http|https|socks5|socks5h|socks4a]://[USER:PASSWORD@]HOST:PORT; so do http_proxy, https_proxy and all_proxy; no_proxy=HOST does without"

// proxyOptions holds the flags of proxies.
type proxyOptions struct {
	url   *string // nil: as the environment says
	not   *string // hosts; nil: as the environment says
	user  string
	unset bool // none at all
}

func (o *proxyOptions) addFlags(f *pflag.FlagSet) {
	f.VarP(optional{&o.url}, "proxy", "x", "`URL` of an http, https or socks proxy")
	flags.Detail(f, "proxy", "http://, https://, socks5://, socks5h:// or socks4a://, [USER:PASSWORD@]HOST:PORT. A socks proxy resolves names. Without it http_proxy, https_proxy, all_proxy and no_proxy of the environment count. --link NAME,proxy=URL is for one link.")
	f.Var(optional{&o.not}, "noproxy", "`HOSTS` to reach without the proxy; * = all")
	flags.Detail(f, "noproxy", "Names, with all below them, addresses and networks, comma-separated.")
	f.StringVar(&o.user, "proxy-user", "", "`USER:PASSWORD` for the proxy")
}

func (o *proxyOptions) addHabits(f *pflag.FlagSet) {
	f.BoolVar(&o.unset, "no-proxy", false, "--noproxy '*'")
	f.Lookup("no-proxy").Hidden = true
}

// optional is a text that may be empty, and may not be given.
type optional struct{ to **string }

func (f optional) Type() string { return "string" }
func (f optional) String() string {
	if f.to == nil || *f.to == nil {
		return ""
	}
	return **f.to
}

func (f optional) Set(text string) error {
	*f.to = &text
	return nil
}

// proxies are the proxies that the flags or the environment name.
type proxies struct {
	choose func(*url.URL) (*url.URL, error)
	forced *url.URL // of the flags, for this machine's own names and addresses, too; nil: none
	not    string   // hosts without a proxy
}

// proxies reads the flags and the environment.
func (o *proxyOptions) proxies() (proxies, error) {
	cfg := httpproxy.FromEnvironment()
	for _, name := range []string{"all_proxy", "ALL_PROXY"} {
		all := os.Getenv(name)
		if all == "" {
			continue
		}
		if cfg.HTTPProxy == "" {
			cfg.HTTPProxy, cfg.CGI = all, false
		}
		if cfg.HTTPSProxy == "" {
			cfg.HTTPSProxy = all
		}
	}
	if o.not != nil {
		cfg.NoProxy = *o.not
	}
	if o.unset || o.url != nil && *o.url == "" {
		cfg.HTTPProxy, cfg.HTTPSProxy = "", ""
	}
	p := proxies{not: cfg.NoProxy}
	if o.url != nil && *o.url != "" && !o.unset {
		u, err := o.read(*o.url)
		if err != nil {
			return p, err
		}
		p.forced = u
		cfg.HTTPProxy, cfg.HTTPSProxy, cfg.CGI = u.String(), u.String(), false
	} else if o.user != "" {
		for _, to := range []*string{&cfg.HTTPProxy, &cfg.HTTPSProxy} {
			if *to == "" {
				continue
			}
			u, err := o.read(*to)
			if err != nil {
				return p, err
			}
			*to = u.String()
		}
	}
	p.choose = cfg.ProxyFunc()
	return p, nil
}

// read reads a proxy as people write it: without a scheme it is http, and without a port
// 1080, as in curl.
func (o *proxyOptions) read(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil { // what it says may hold a password
		return nil, exit.UsageError{Err: errors.New("--proxy: not a URL"), Hint: proxyHint}
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if err := fetch.CheckProxy(u); err != nil {
		return nil, exit.UsageError{Err: err, Hint: proxyHint}
	}
	if u.Port() == "" && u.Scheme != "https" {
		u.Host = net.JoinHostPort(u.Hostname(), "1080")
	}
	if o.user != "" {
		user, password, _ := strings.Cut(o.user, ":")
		u.User = url.UserPassword(user, password)
	}
	return u, nil
}

// For implements fetch.Proxies.
func (p proxies) For(u *url.URL) (*url.URL, error) {
	if p.forced != nil && namesLoopback(u.Hostname()) { // for which the environment's do not count
		if exempt(p.not, u.Hostname()) {
			return nil, nil
		}
		return p.forced, nil
	}
	proxy, err := p.choose(u)
	if err != nil || proxy == nil {
		return nil, err
	}
	if err := fetch.CheckProxy(proxy); err != nil {
		return nil, exit.UsageError{Err: err, Hint: proxyHint}
	}
	return proxy, nil
}

// exempt says whether a list of hosts without a proxy has one of this machine's own.
func exempt(list, host string) bool {
	addr, err := netip.ParseAddr(host)
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.Trim(strings.TrimSpace(entry), "[]")
		prefix, bad := netip.ParsePrefix(entry)
		if entry == "*" || strings.EqualFold(entry, host) || err == nil && bad == nil && prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// checkLinkProxy says what is wrong with a link's proxy.
func checkLinkProxy(s link.Spec) error {
	if s.Proxy == "" {
		return nil
	}
	u, err := url.Parse(s.Proxy)
	if err == nil {
		err = fetch.CheckProxy(u)
	}
	if err != nil {
		return exit.UsageError{Err: fmt.Errorf("--link %s: %w", s.Name, err), Hint: "--link NAME,proxy=[http|https|socks5|socks5h|socks4a]://[USER:PASSWORD@]HOST:PORT"}
	}
	return nil
}

// proxied are links through proxies of their own, which are no interfaces.
type proxied struct {
	names []string // sorted
	only  bool     // no other link is named
}

// takeProxied finds the links that --link describes with a proxy and that are no interfaces,
// and takes their names out of those of --links. Where only auto stands there, they are all
// the links of the run.
func (o *Options) takeProxied(infos []link.Info, specs map[string]link.Spec) (p proxied) {
	auto := slices.Equal(o.links, []string{link.Auto})
	for name, s := range specs {
		isInterface := slices.ContainsFunc(infos, func(i link.Info) bool { return i.Name == name })
		if s.Proxy == "" || isInterface || link.IsGroup(name) {
			continue
		}
		if auto || slices.Contains(o.links, name) {
			p.names = append(p.names, name)
		}
	}
	slices.Sort(p.names)
	p.only = auto && len(p.names) > 0
	o.links = slices.DeleteFunc(slices.Clone(o.links), func(name string) bool { return slices.Contains(p.names, name) })
	if len(o.links) == 0 {
		o.links, p.only = []string{link.Auto}, true
	}
	if at := slices.IndexFunc(infos, func(i link.Info) bool { return i.Virtual == link.VirtualLoopback }); p.only && at >= 0 &&
		!slices.ContainsFunc(p.names, func(name string) bool { return !proxyHere(specs[name]) }) {
		o.links = []string{infos[at].Name} // no other is needed
	}
	return p
}

// proxyHere says whether a link's proxy is on this machine.
func proxyHere(s link.Spec) bool {
	u, err := url.Parse(s.Proxy)
	return err == nil && namesLoopback(u.Hostname())
}

// carrier is the interface over which a link's proxy is reached: the loopback one for a proxy
// on this machine, else the one given.
func carrier(infos []link.Info, other link.Info, s link.Spec) link.Info {
	if at := slices.IndexFunc(infos, func(i link.Info) bool { return i.Virtual == link.VirtualLoopback }); at >= 0 && proxyHere(s) {
		return infos[at]
	}
	return other
}

// tellOfProxy says, of the first URL that goes through a proxy, what that means for
// the links: the proxy is reached over each of them, and how it reaches the server
// is its own affair. A proxy on this machine is a warning: all links but loopback
// lead away from it.
func tellOfProxy(ask fetch.Proxies, urls []*url.URL, links []chosen, warn func(important bool, text string)) {
	for _, u := range urls {
		p, err := ask.For(u)
		if err != nil || p == nil {
			continue
		}
		if namesLoopback(p.Hostname()) {
			for _, l := range links {
				if l.found.Virtual != link.VirtualLoopback {
					warn(true, fmt.Sprintf("the proxy %s is on this machine, where link %s does not lead", p.Host, l.info.Name))
					return
				}
			}
		}
		warn(false, fmt.Sprintf("requests go through the proxy %s: links lead to it, and no further", p.Host))
		return
	}
}
