package proxy

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/link"
)

// errForbidden is returned for a destination that a client may not reach.
var errForbidden = errors.New("the destination is not allowed")

// maxUsers and maxUserLine bound a file of users.
const (
	maxUsers    = 10_000
	maxUserLine = 1024
)

// Users are those who may use the proxy.
type Users struct{ pairs [][sha256.Size]byte }

// ReadUsers reads lines of user:password. Empty lines and those that begin with # count
// for nothing. An error tells the line, and nothing that is in it.
func ReadUsers(r io.Reader) (*Users, error) {
	users := new(Users)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxUserLine)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSuffix(lines.Text(), "\r")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		user, password, ok := strings.Cut(line, ":")
		switch {
		case !ok || user == "" || password == "":
			return nil, fmt.Errorf("line %d: want user:password", n)
		case len(user) > maxText || len(password) > maxText:
			return nil, fmt.Errorf("line %d: user and password have 255 bytes each at most", n)
		case len(users.pairs) == maxUsers:
			return nil, fmt.Errorf("line %d: more than %d users", n, maxUsers)
		}
		users.pairs = append(users.pairs, pair(user, password))
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(users.pairs) == 0 {
		return nil, errors.New("there is no user in it")
	}
	return users, nil
}

func pair(user, password string) [sha256.Size]byte {
	return sha256.Sum256([]byte(user + ":" + password))
}

// admit says whether a user is one of them. It takes as long for each.
func (u *Users) admit(user, password string) bool {
	given, found := pair(user, password), 0
	for i := range u.pairs {
		found |= subtle.ConstantTimeCompare(u.pairs[i][:], given[:])
	}
	return found == 1 && !strings.Contains(user, ":")
}

// admits says whether a client may use the proxy: this machine always, others where
// they are allowed.
func admits(client netip.Addr, allow []netip.Prefix) bool {
	client = client.Unmap().WithZone("")
	return client.IsLoopback() || slices.ContainsFunc(allow, func(p netip.Prefix) bool { return p.Contains(client) })
}

// checkDestination refuses what a client of the proxy is not to reach: the proxy itself,
// and for other machines this machine, and what only its links have (RFC 3927, RFC 4291: a
// cloud's or a router's own services are there). from is the proxy's side of the connection.
func checkDestination(client netip.Addr, from, to, self netip.AddrPort) error {
	addr := to.Addr().Unmap().WithZone("")
	switch here := link.IsHere(addr) || addr == from.Addr().Unmap().WithZone(""); {
	case here && to.Port() == self.Port():
		return fmt.Errorf("%w: it is the proxy itself", errForbidden)
	case here && !isLocal(client):
		return fmt.Errorf("%w: it is the proxy's own machine", errForbidden)
	}
	return checkAddress(client, addr)
}

// checkAddress refuses addresses that a client is not to reach, before anything is sent there.
func checkAddress(client, addr netip.Addr) error {
	addr = addr.Unmap()
	switch {
	case isLocal(client):
		return nil
	case link.IsHere(addr):
		return fmt.Errorf("%w: it is the proxy's own machine", errForbidden)
	case addr.IsLinkLocalUnicast(), addr.IsMulticast():
		return fmt.Errorf("%w: it is a link-local address", errForbidden)
	}
	return nil
}

// isLocal says whether a client is this machine.
func isLocal(client netip.Addr) bool { return client.Unmap().IsLoopback() }
