package android

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// What DnsProxyListener's getaddrinfo says (its codes; bionic's netdb.h).
const (
	codeFound  = "222\x00"
	codeFailed = "401\x00"
	eaiAgain   = 2
	eaiFail    = 4
	eaiNoData  = 7
	eaiNoName  = 8
	linuxInet  = 2 // AF_INET
	linuxInet6 = 10
	maxFound   = 256 // addresses of one name
	maxField   = 1 << 10
)

// Lookup asks Android's resolver at path for a host's addresses on a network,
// in the way that Android 8 and 9 know. family is 0, 4 or 6. As with
// DialResolver, ask Probe first. A name that has none is a *net.DNSError with
// IsNotFound; other errors wrap ErrResolver.
func Lookup(ctx context.Context, path string, netID uint32, host string, family int) ([]netip.Addr, error) {
	command, err := lookupCommand(netID, host, family)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, connectError(ErrResolver, err)
	}
	defer c.Close()                                                           //nolint:errcheck // what it had to say is known
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // fails when it is closed
	defer stop()
	if _, err := c.Write(command); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrResolver, err)
	}
	addrs, err := readAddrs(bufio.NewReader(c), host)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", ErrResolver, context.Cause(ctx))
	}
	return addrs, err
}

// lookupCommand refuses names that the listener would take for several words.
func lookupCommand(netID uint32, host string, family int) ([]byte, error) {
	if host == "" || len(host) > 255 || strings.ContainsFunc(host, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`^'"\`, r)
	}) {
		return nil, &net.DNSError{Err: "not a name that can be asked for", Name: host, IsNotFound: true}
	}
	number := map[int]int{4: linuxInet, 6: linuxInet6}[family]
	// No service, no flags, for TCP, of any protocol.
	text := "getaddrinfo " + host + " ^ 0 " + strconv.Itoa(number) + " 1 0 " + strconv.FormatUint(uint64(netID), 10) + "\x00"
	return []byte(text), nil
}

// readAddrs reads an answer: a code; then, for each address, a one, four words,
// and two fields with their lengths; then a zero (sendaddrinfo).
func readAddrs(r io.Reader, host string) ([]netip.Addr, error) {
	var code [4]byte
	if _, err := io.ReadFull(r, code[:]); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrResolver, err)
	}
	switch string(code[:]) {
	case codeFound:
	case codeFailed:
		return nil, readFailure(r, host)
	default:
		return nil, fmt.Errorf("%w: code %q", ErrResolver, code[:])
	}
	var addrs []netip.Addr
	for range maxFound {
		more, err := readWord(r)
		if err != nil {
			return nil, err
		}
		if more == 0 {
			return addrs, nil
		}
		var head [16]byte // flags, family, type, protocol: the address says all
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrResolver, err)
		}
		address, err := readField(r)
		if err != nil {
			return nil, err
		}
		if _, err := readField(r); err != nil { // the canonical name
			return nil, err
		}
		if a := sockaddr(address); a.IsValid() {
			addrs = append(addrs, a)
		}
	}
	return nil, fmt.Errorf("%w: more than %d addresses", ErrResolver, maxFound)
}

// readFailure reads why: a length and a number of bionic's, in native order.
func readFailure(r io.Reader, host string) error {
	b, err := readField(r)
	if err != nil {
		return err
	}
	if len(b) != 4 {
		return fmt.Errorf("%w: a failure of %d bytes", ErrResolver, len(b))
	}
	switch n := binary.NativeEndian.Uint32(b); n {
	case eaiNoData, eaiNoName:
		return &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	case eaiAgain:
		return fmt.Errorf("%w: the network's name servers do not answer", ErrResolver)
	case eaiFail:
		return fmt.Errorf("%w: a name server of the network failed", ErrResolver)
	default:
		return fmt.Errorf("%w: it failed (getaddrinfo error %d)", ErrResolver, n)
	}
}

// readField reads a big-endian length and as many bytes.
func readField(r io.Reader) ([]byte, error) {
	n, err := readWord(r)
	if err != nil {
		return nil, err
	}
	if n < 0 || n > maxField {
		return nil, fmt.Errorf("%w: a field of %d bytes", ErrResolver, n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrResolver, err)
	}
	return b, nil
}

// sockaddr is the address in a struct sockaddr_in or sockaddr_in6.
func sockaddr(b []byte) netip.Addr {
	if len(b) < 2 {
		return netip.Addr{}
	}
	switch family := binary.NativeEndian.Uint16(b); {
	case family == linuxInet && len(b) >= 8:
		return netip.AddrFrom4([4]byte(b[4:8]))
	case family == linuxInet6 && len(b) >= 24:
		return netip.AddrFrom16([16]byte(b[8:24]))
	}
	return netip.Addr{}
}
