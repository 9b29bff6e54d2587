package get

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/mlget/mlget/internal/android"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/roots"
)

// http makes the configuration of the requests.
func (o *Options) http() (fetch.Config, error) {
	cfg := fetch.Config{
		Header: http.Header{}, UserAgent: o.userAgent, Named: new(fetch.Origins),
		ConnectTimeout: o.connectTime, ResponseTimeout: o.timeout,
		Peers:   fetch.NewPeers(),
		NoRange: o.noRange, OnlyDigest: o.digest,
		TLS: &tls.Config{InsecureSkipVerify: o.insecure}, //nolint:gosec // as -k asks
	}
	switch {
	case o.http1 && (o.http2 || o.http2Prior):
		return cfg, exit.Usagef("--http1.1 and --http2 exclude each other")
	case o.http2Prior:
		cfg.Protocol = fetch.HTTP2PriorKnowledge
	case o.http1:
		cfg.Protocol = fetch.HTTP1
	case o.http2:
		cfg.Protocol = fetch.HTTP2
	}
	if err := o.addHeaders(&cfg); err != nil {
		return cfg, err
	}
	if o.referer != "" {
		if !httpguts.ValidHeaderFieldValue(o.referer) {
			return cfg, exit.Usagef("--referer: it has control characters")
		}
		cfg.Header.Set("Referer", o.referer)
	}
	cfg.User = o.userinfo()
	n, err := o.readNetrc()
	if err != nil {
		return cfg, err
	}
	if n != nil {
		cfg.Credentials = n
	}
	if android.Here("") { // of its authorities Go knows the old ones at best
		cfg.TLS.RootCAs = roots.Find("").Pool
	}
	if o.caCert != "" {
		pem, err := os.ReadFile(o.caCert)
		if err != nil {
			return cfg, exit.FileError{Err: fmt.Errorf("--cacert: %w", err)}
		}
		cfg.TLS.RootCAs = x509.NewCertPool()
		if !cfg.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return cfg, exit.FileError{Err: fmt.Errorf("--cacert: %s holds no PEM certificate", o.caCert)}
		}
	}
	if err := o.request.apply(&cfg); err != nil {
		return cfg, err
	}
	return cfg, nil
}

// userinfo is the user and password of the command line; a missing half comes from netrc, if it
// has one.
func (o *Options) userinfo() *url.Userinfo {
	user, password, known := strings.Cut(o.user, ":")
	switch {
	case o.user == "" && o.password == "":
		return nil
	case o.password != "":
		return url.UserPassword(user, o.password)
	case known:
		return url.UserPassword(user, password)
	}
	return url.User(user)
}
