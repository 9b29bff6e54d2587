package metrics

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/push"
	"github.com/prometheus/common/expfmt"
)

const (
	pushTimeout = 10 * time.Second
	maxHeaders  = 64 << 10 // bytes, of a gateway's answer
	maxReason   = 200      // bytes of a refusal that are shown
)

// ErrPushURL says that the address of a Pushgateway is none.
var ErrPushURL = errors.New("want http://HOST:PORT, or https://")

// Gateway is where to push to, and as which group.
type Gateway struct {
	url    string // without user, password and group
	user   *url.Userinfo
	labels [][2]string // the group's: names and values; the first is job
}

// ParseGateway reads a Pushgateway's address. Where its path does not name a
// group (/metrics/job/...), the group is job "mlget" and instance. The error
// wraps ErrPushURL, and shows nothing of what was given: there may be a
// password in it.
func ParseGateway(text, instance string) (Gateway, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return Gateway{}, ErrPushURL
	}
	base, group, named := strings.Cut(u.EscapedPath(), "/metrics/job")
	g := Gateway{url: (&url.URL{Scheme: u.Scheme, Host: u.Host}).String() + base, user: u.User, labels: [][2]string{{"job", "mlget"}}}
	if !named {
		if instance != "" {
			g.labels = append(g.labels, [2]string{"instance", instance})
		}
		return g, nil
	}
	g.labels = nil
	parts := strings.Split(strings.TrimSuffix("job"+group, "/"), "/")
	for ; len(parts) >= 2; parts = parts[2:] {
		label, err := parseLabel(parts[0], parts[1])
		if err != nil {
			return Gateway{}, ErrPushURL
		}
		g.labels = append(g.labels, label)
	}
	if len(parts) != 0 || g.labels[0][0] != "job" || g.labels[0][1] == "" {
		return Gateway{}, ErrPushURL
	}
	return g, nil
}

// parseLabel reads a label as it stands in a Pushgateway's path.
func parseLabel(name, value string) (label [2]string, err error) {
	if value, err = url.PathUnescape(value); err != nil {
		return label, err
	}
	name, encoded := strings.CutSuffix(name, "@base64")
	if encoded {
		var plain []byte
		plain, err = base64.RawURLEncoding.DecodeString(strings.TrimRight(value, "="))
		value = string(plain)
	}
	return [2]string{name, value}, err
}

// Push replaces the group's metrics by the run's, within ten seconds. The error
// names the gateway without user and password.
func (g Gateway) Push(ctx context.Context, run *Run) error {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	c := &client{http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeaders}, g.url}
	p := push.New(g.url, g.labels[0][1]).Gatherer(run.registry).Client(c).
		Format(expfmt.NewFormat(expfmt.TypeTextPlain)).Header(http.Header{"User-Agent": {"mlget/" + run.version}})
	for _, l := range g.labels[1:] {
		p.Grouping(l[0], l[1])
	}
	if g.user != nil {
		password, _ := g.user.Password()
		p.BasicAuth(g.user.Username(), password)
	}
	if err := p.PushContext(ctx); err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	return nil
}

// client sends one request. Unlike http.Client it takes no proxy and follows no
// redirect, with which a password could leave; of a refusal it reads little.
type client struct {
	transport http.Transport
	base      string // of the gateway, before the group
}

// Do implements push.HTTPDoer. In the group's path that package writes + for a blank,
// which a Pushgateway takes for a plus.
func (c *client) Do(req *http.Request) (*http.Response, error) {
	group := strings.TrimPrefix(req.URL.String(), c.base)
	u, err := url.Parse(c.base + strings.ReplaceAll(group, "+", "%20"))
	if err != nil {
		return nil, err
	}
	req.URL = u
	res, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", req.URL, err)
	}
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusAccepted {
		defer res.Body.Close()                                    //nolint:errcheck // it is only read
		why, _ := io.ReadAll(io.LimitReader(res.Body, maxReason)) // as much of it as there is
		return nil, fmt.Errorf("%s: %s %s", req.URL, res.Status, bytes.TrimSpace(why))
	}
	return res, nil
}
