package fetch

import (
	"net/http"
	"net/url"
	"strings"
)

// maxCookieBytes bounds the Cookie header, below what servers take; curl's.
const maxCookieBytes = 8190

// addCookies puts the jar's cookies for u into a request's header, before the user's own, as
// far as there is room. Values stay as received: net/http would quote some.
func (c *Client) addCookies(h http.Header, u *url.URL) {
	if c.cfg.Cookies == nil {
		return
	}
	const between = "; "
	var all []string
	room := maxCookieBytes
	for _, own := range h["Cookie"] {
		room -= len(own) + len(between)
	}
	for _, cookie := range c.cfg.Cookies.Cookies(u) {
		value := cookie.Value
		if cookie.Quoted {
			value = `"` + value + `"`
		}
		text := cookie.Name + "=" + value
		if room -= len(text) + len(between); room < 0 {
			break
		}
		all = append(all, text)
	}
	if len(all) > 0 {
		h["Cookie"] = []string{strings.Join(append(all, h["Cookie"]...), between)}
	}
}

// keepCookies takes in what an answer from u sets.
func (c *Client) keepCookies(h *http.Response, u *url.URL) {
	if c.cfg.Cookies == nil || len(h.Header["Set-Cookie"]) == 0 {
		return
	}
	c.cfg.Cookies.SetCookies(u, h.Cookies())
}
