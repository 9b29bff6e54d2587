package fetch

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/mlget/mlget/internal/digestauth"
)

// authorize gives a request the credentials for its hop: as the answer to the server's
// challenge where there was one, else as Basic.
func (c *Client) authorize(r *http.Request, t target, first *url.URL) {
	if r.Header.Get("Authorization") != "" {
		return
	}
	user, password, ok := c.credentials(t, first)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.origin(originOf(t.u)).digest; s != nil {
		r.Header.Set("Authorization", s.Authorization(r.Method, t.u.RequestURI(), user, password))
	} else if !c.cfg.OnlyDigest {
		r.SetBasicAuth(user, password)
	}
}

// challenged takes in the challenge of an answer to a request, and says whether it is worth
// making it once more, with the answer: the first time, and where only the age of the nonce
// is the matter.
func (c *Client) challenged(h *http.Response, t target, first *url.URL, times int) bool {
	if h.StatusCode != http.StatusUnauthorized || h.Request.Header.Get("Authorization") != "" && c.given(t) {
		return false
	}
	if _, _, ok := c.credentials(t, first); !ok {
		return false
	}
	s, stale := digestauth.New(digestauth.Parse(h.Header.Values("Www-Authenticate")))
	if s == nil || times > 1 || times == 1 && !stale {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.origin(originOf(t.u)).digest = s
	return true
}

// given says whether the user's own header is sent at a hop.
func (c *Client) given(t target) bool { return t.home && c.cfg.Header.Get("Authorization") != "" }

// credentials are the user and password for one hop. Those of -u, of the URL and
// of netrc stay with the origin of the URL asked for (curl CVE-2022-27774); what
// a redirect's URL names is for that hop alone.
func (c *Client) credentials(t target, first *url.URL) (user, password string, ok bool) {
	info := t.u.User
	if t.home {
		switch {
		case c.cfg.User != nil:
			info = c.cfg.User
		case info == nil:
			info = first.User
		}
	}
	if info != nil {
		user := info.Username()
		password, known := info.Password()
		if (!known || user == "") && t.home && c.cfg.Credentials != nil { // the half that is missing
			if name, secret, ok := c.cfg.Credentials.For(Hostname(t.u), user); ok {
				user = name
				if !known {
					password = secret
				}
			}
		}
		return user, password, true
	}
	if t.home && c.cfg.Credentials != nil {
		return c.cfg.Credentials.For(Hostname(t.u), "")
	}
	return "", "", false
}

// unauthorized says which schemes a server, or a proxy, wants, by its header; nil: it does not
// say.
func unauthorized(h *http.Response, header string) error {
	var schemes []string
	for _, c := range digestauth.Parse(h.Header.Values(header)) {
		const most = 20 // bytes of a name
		if len(c.Scheme) <= most && len(schemes) < 5 {
			schemes = append(schemes, c.Scheme)
		}
	}
	if len(schemes) == 0 {
		return nil
	}
	text := (&Error{Status: h.StatusCode}).Error()
	return errors.New(text + "; it wants " + strings.Join(schemes, " or ") + " authentication")
}
