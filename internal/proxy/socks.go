package proxy

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// The first bytes of the protocols, which are also their versions.
const (
	socks4 = 4 // SOCKS: A protocol for TCP proxy across firewalls (Y. Lee), and its 4A
	socks5 = 5 // RFC 1928
)

// The replies of SOCKS5 (RFC 1928, section 6).
const (
	succeeded        = 0
	generalFailure   = 1
	notAllowed       = 2
	hostUnreachable  = 4
	refused          = 5
	noSuchCommand    = 7
	noSuchAddressing = 8
)

// The replies of SOCKS4.
const granted4, rejected4 = 90, 91

// maxText bounds a user's and a host's name: SOCKS5 tells their length in a byte.
const maxText = 255

// errSOCKS is returned for what is no SOCKS, or SOCKS of a kind that is not spoken.
var errSOCKS = errors.New("bad SOCKS request")

// errPassword is returned where user and password are missing or wrong.
var errPassword = errors.New("user and password are missing or wrong")

// socksRequest is a client's wish to be connected to a target, host:port.
type socksRequest struct {
	version byte
	target  string
}

// readSOCKS reads a client's request, with the dialogue before it. Where it fails
// the client has been told why. users is nil where everybody may use the proxy.
func readSOCKS(r *bufio.Reader, w io.Writer, users *Users) (socksRequest, error) {
	version, err := r.ReadByte()
	if err != nil {
		return socksRequest{}, err
	}
	switch version {
	case socks4:
		return readSOCKS4(r, w, users)
	case socks5:
		return readSOCKS5(r, w, users)
	}
	return socksRequest{}, fmt.Errorf("%w: version %d", errSOCKS, version)
}

// readSOCKS4 reads a request of SOCKS4 or SOCKS4A behind its version.
func readSOCKS4(r *bufio.Reader, w io.Writer, users *Users) (req socksRequest, err error) {
	defer func() {
		if err != nil {
			_ = replySOCKS(w, socks4, generalFailure)
		}
	}()
	var head [7]byte // command, port, address
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return req, err
	}
	if _, err := readText(r); err != nil { // a user that nobody vouches for
		return req, err
	}
	host := netip.AddrFrom4([4]byte(head[3:])).String()
	if head[3] == 0 && head[4] == 0 && head[5] == 0 && head[6] != 0 { // 4A: a name follows
		if host, err = readText(r); err != nil {
			return req, err
		}
	}
	switch {
	case users != nil:
		return req, fmt.Errorf("%w: SOCKS4 has none", errPassword)
	case head[0] != 1:
		return req, fmt.Errorf("%w: command %d", errSOCKS, head[0])
	}
	req.version = socks4
	req.target, err = target(host, binary.BigEndian.Uint16(head[1:]))
	return req, err
}

// readText reads a text that a zero byte ends.
func readText(r *bufio.Reader) (string, error) {
	var text []byte
	for {
		b, err := r.ReadByte()
		switch {
		case err != nil:
			return "", err
		case b == 0:
			return string(text), nil
		case len(text) == maxText:
			return "", fmt.Errorf("%w: a text is too long", errSOCKS)
		}
		text = append(text, b)
	}
}

// readSOCKS5 reads the dialogue of SOCKS5 behind the first version.
func readSOCKS5(r *bufio.Reader, w io.Writer, users *Users) (req socksRequest, err error) {
	if err := chooseMethod(r, w, users); err != nil {
		return req, err
	}
	var head [4]byte // version, command, reserved, kind of address
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return req, err
	}
	fail := func(reply byte, why string) (socksRequest, error) {
		_ = replySOCKS(w, socks5, reply)
		return socksRequest{}, fmt.Errorf("%w: %s", errSOCKS, why)
	}
	switch {
	case head[0] != socks5:
		return fail(generalFailure, "the version changes")
	case head[1] != 1:
		return fail(noSuchCommand, "a command other than CONNECT")
	}
	host, err := readAddress(r, head[3])
	if errors.Is(err, errSOCKS) {
		return fail(noSuchAddressing, "unknown kind of address")
	}
	if err != nil {
		return req, err
	}
	var port [2]byte
	if _, err := io.ReadFull(r, port[:]); err != nil {
		return req, err
	}
	req.version = socks5
	if req.target, err = target(host, binary.BigEndian.Uint16(port[:])); err != nil {
		return fail(generalFailure, err.Error())
	}
	return req, nil
}

// readAddress reads an address of one of RFC 1928's three kinds.
func readAddress(r *bufio.Reader, kind byte) (string, error) {
	length := net.IPv4len
	switch kind {
	case 1:
	case 3:
		name, err := readCounted(r)
		return string(name), err
	case 4:
		length = net.IPv6len
	default:
		return "", errSOCKS
	}
	bytes := make([]byte, length)
	_, err := io.ReadFull(r, bytes)
	addr, _ := netip.AddrFromSlice(bytes)
	return addr.Unmap().String(), err
}

// readCounted reads bytes behind their number.
func readCounted(r *bufio.Reader) ([]byte, error) {
	n, err := r.ReadByte()
	if err != nil {
		return nil, err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(r, text)
	return text, err
}

// chooseMethod agrees on how the client shows who it is: not at all, or by user and
// password (RFC 1929).
func chooseMethod(r *bufio.Reader, w io.Writer, users *Users) error {
	const none, password, unacceptable = 0, 2, 0xff
	methods, err := readCounted(r)
	if err != nil {
		return err
	}
	want := byte(none)
	if users != nil {
		want = password
	}
	if !slices.Contains(methods, want) {
		_, _ = w.Write([]byte{socks5, unacceptable})
		return errPassword
	}
	if _, err := w.Write([]byte{socks5, want}); err != nil || want == none {
		return err
	}
	version, err := r.ReadByte()
	if err != nil {
		return err
	}
	user, err := readCounted(r)
	if err != nil {
		return err
	}
	pass, err := readCounted(r)
	if err != nil {
		return err
	}
	if version != 1 || !users.admit(string(user), string(pass)) {
		_, _ = w.Write([]byte{1, 1})
		return errPassword
	}
	_, err = w.Write([]byte{1, 0})
	return err
}

// target checks a destination and writes it as host:port.
func target(host string, port uint16) (string, error) {
	if host == "" || port == 0 {
		return "", fmt.Errorf("%w: no destination", errSOCKS)
	}
	_, err := netip.ParseAddr(host)
	if strings.ContainsFunc(host, notInHosts) || strings.Contains(host, ":") && err != nil {
		return "", fmt.Errorf("%w: no host is called %q", errSOCKS, host)
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port))), nil
}

func notInHosts(r rune) bool { return r <= ' ' || strings.ContainsRune("/%[]\x7f", r) }

// replySOCKS tells the client what became of its request, by a reply of SOCKS5. The address
// that goes with it is the unspecified one: which link was taken is none of the client's business.
func replySOCKS(w io.Writer, version, reply byte) error {
	answer := []byte{socks5, reply, 0, 1, 0, 0, 0, 0, 0, 0}
	if version == socks4 {
		answer = []byte{0, granted4, 0, 0, 0, 0, 0, 0}
		if reply != succeeded {
			answer[1] = rejected4
		}
	}
	_, err := w.Write(answer)
	return err
}
