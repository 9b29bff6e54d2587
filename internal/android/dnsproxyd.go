package android

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
)

var (
	// ErrResolver says that Android's resolver gave no answer to a query.
	ErrResolver = errors.New("the phone's resolver")
	// ErrNoQueries says that it takes none: that of Android 8 and 9 does not.
	// Lookup is for those.
	ErrNoQueries = fmt.Errorf("%w takes no DNS queries", ErrResolver)
)

const (
	maxCommand = 1024    // bytes, the end included: FrameworkListener's buffer
	maxAnswer  = 1 << 16 // bytes; netd's own limit is 8 KiB
	maxQuery   = 512     // bytes that fit into a command as base64
)

// DialResolver gives a connection over which one DNS query can be asked of
// Android's resolver at path, of the name servers of a network. It is framed
// as DNS over TCP is (RFC 1035, 4.2.2), so net.Resolver takes it:
//
//	&net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
//		return android.DialResolver(ctx, path, netID)
//	}}
//
// Private DNS is the resolver's own affair, and honoured. Whoever may not use
// the network gets, without a word, an answer by another one
// (NetworkController::getNetworkForDnsLocked): ask Probe first.
func DialResolver(ctx context.Context, path string, netID uint32) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, connectError(ErrResolver, err)
	}
	return &query{Conn: c, netID: netID}, nil
}

// query is one query under way. Like any use of net.Resolver's connections it
// is written to and read from by one goroutine.
type query struct {
	net.Conn
	netID  uint32
	out    []byte // of the query, length included
	asked  bool
	answer []byte // what is left to be read of it, length included
}

// Write takes the query, in one piece or several.
func (q *query) Write(b []byte) (int, error) {
	if q.asked || len(q.out)+len(b) > 2+maxQuery {
		return 0, fmt.Errorf("%w takes one query of at most %d bytes", ErrResolver, maxQuery)
	}
	q.out = append(q.out, b...)
	if len(q.out) < 2 || len(q.out) < 2+int(binary.BigEndian.Uint16(q.out)) {
		return len(b), nil
	}
	q.asked = true
	command := appendCommand(make([]byte, 0, maxCommand), q.netID, q.out[2:])
	if len(command) > maxCommand {
		return 0, fmt.Errorf("%w: the query is too long", ErrResolver)
	}
	// In one write: the listener takes what it reads at once for whole commands.
	if _, err := q.Conn.Write(command); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrResolver, err)
	}
	return len(b), nil
}

// Read gives the answer.
func (q *query) Read(b []byte) (int, error) {
	if q.answer == nil {
		if !q.asked {
			return 0, fmt.Errorf("%w: nothing was asked", ErrResolver)
		}
		answer, err := readAnswer(q.Conn)
		if err != nil {
			return 0, err
		}
		q.answer = append(binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(answer)), uint16(len(answer))), answer...)
	}
	if len(q.answer) == 0 {
		return 0, io.EOF
	}
	n := copy(b, q.answer)
	q.answer = q.answer[n:]
	return n, nil
}

// appendCommand adds a command of DnsProxyListener: resnsend, from Android 10 on.
func appendCommand(b []byte, netID uint32, query []byte) []byte {
	b = append(b, "resnsend "...)
	b = strconv.AppendUint(b, uint64(netID), 10)
	b = append(b, " 0 "...) // no flags
	b = base64.StdEncoding.AppendEncode(b, query)
	return append(b, 0)
}

// readAnswer reads what ResNSendHandler::run sends: a big-endian response code,
// or -errno and nothing more; then a length and the DNS message.
func readAnswer(r io.Reader) ([]byte, error) {
	code, err := readWord(r)
	switch {
	case err != nil:
		return nil, err
	case code < 0 && code >= -errnoMax:
		return nil, &NoAnswer{Code: int(-code)}
	case code < 0 || code > 0xffff:
		// Up to Android 9 the answer is text: 500, and that it knows no such command.
		return nil, ErrNoQueries
	}
	n, err := readWord(r)
	if err != nil {
		return nil, err
	}
	if n < 12 || n >= maxAnswer { // a DNS header has 12 bytes
		return nil, fmt.Errorf("%w: an answer of %d bytes", ErrResolver, n)
	}
	answer := make([]byte, n)
	if _, err := io.ReadFull(r, answer); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrResolver, err)
	}
	return answer, nil
}

func readWord(r io.Reader) (int32, error) {
	var b [4]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrResolver, err)
	}
	return int32(binary.BigEndian.Uint32(b[:])), nil
}

// NoAnswer is a number that Android's resolver gives instead of an answer (10 and
// later). Most are errnos by accident: 3 and 11 are not what errno(3) says of them.
type NoAnswer struct{ Code int } // positive

// Error says what the number means (DnsResolver's DnsProxyListener.cpp, res_send.cpp).
func (e *NoAnswer) Error() string { return ErrResolver.Error() + ": " + e.meaning() }

func (e *NoAnswer) meaning() string {
	switch e.Code {
	case errnoTimedOut:
		return "the network's name servers do not answer"
	case errnoRefused:
		return "no name server of the network can be reached, or (Android 14 and later) Android blocks this app's data: Data Saver, battery restrictions"
	case noServers:
		return "the network has no name servers"
	case notEvaluated:
		return "it refuses this app's question (Android 13 and later)"
	case errnoNoNet:
		return "the network is gone"
	case errnoPerm, errnoAccess:
		return "this app may not use the network"
	}
	return syscall.Errno(e.Code).Error()
}

// Unwrap makes it one of ErrResolver's.
func (e *NoAnswer) Unwrap() error { return ErrResolver }

// Timeout says whether name servers were asked in vain.
func (e *NoAnswer) Timeout() bool { return e.Code == errnoTimedOut }

// Temporary says whether it is worth asking again: what the network lacks it may
// have in a moment, what Android has decided about this app stays.
func (e *NoAnswer) Temporary() bool {
	switch e.Code {
	case notEvaluated, errnoPerm, errnoAccess, errnoInvalid, errnoIllegal, errnoTooLong:
		return false
	}
	return true
}
