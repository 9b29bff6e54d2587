package metrics

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	pushTimeout = 10 * time.Second
	maxAnswer   = 64 << 10 // bytes of a gateway's, its header included
)

// ErrPushURL says that the address of a Pushgateway is none.
var ErrPushURL = errors.New("want http://HOST:PORT, or https://")

// Gateway is where to push to.
type Gateway struct {
	url  string // without user and password
	user *url.Userinfo
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
	g := Gateway{user: u.User}
	u.User, u.Fragment, u.RawQuery = nil, "", ""
	if !strings.Contains(u.Path, "/metrics/job") {
		u = u.JoinPath("metrics", "job", "mlget")
		if instance != "" {
			u = u.JoinPath("instance", url.PathEscape(instance))
		}
	}
	g.url = u.String()
	return g, nil
}

// Push replaces the group's metrics by the run's, within ten seconds. The error
// names the gateway without user and password. It is one request over one
// connection, made here: net/http's client would weigh half a megabyte. It takes
// no proxy, and follows no redirect, with which a password could leave.
func (g Gateway) Push(ctx context.Context, run *Run) error {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, g.url, bytes.NewReader(run.Text()))
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	req.Close = true
	req.Header.Set("Content-Type", ContentType)
	req.Header.Set("User-Agent", "mlget/"+run.version)
	if g.user != nil {
		password, _ := g.user.Password()
		req.SetBasicAuth(g.user.Username(), password)
	}
	if err := send(req); err != nil {
		return fmt.Errorf("metrics: %s: %w", g.url, err)
	}
	return nil
}

// send sends a request, and is content with 200 and 202 only.
func send(req *http.Request) error {
	conn, err := dial(req.Context(), req.URL)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // what counts is the answer
	if deadline, ok := req.Context().Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	res, err := answer(bufio.NewReader(io.LimitReader(conn, maxAnswer)), req)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // it is only read
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusAccepted {
		why, _ := io.ReadAll(io.LimitReader(res.Body, 200)) // as much of it as there is
		return fmt.Errorf("%s %s", res.Status, bytes.TrimSpace(why))
	}
	return nil
}

// answer is the response, after those that are only interim. All of them together are
// no longer than maxAnswer.
func answer(from *bufio.Reader, req *http.Request) (*http.Response, error) {
	for {
		res, err := http.ReadResponse(from, req)
		if err != nil || res.StatusCode >= 200 || res.StatusCode == http.StatusSwitchingProtocols {
			return res, err
		}
	}
}

func dial(ctx context.Context, u *url.URL) (net.Conn, error) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	address := net.JoinHostPort(u.Hostname(), port)
	if u.Scheme == "https" {
		return (&tls.Dialer{}).DialContext(ctx, "tcp", address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}
