package androidtest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

const commandBuffer = 1024 // FrameworkListener's

// resolve is DnsProxyListener: commands that end in a zero byte.
func (n *Netd) resolve(c *net.UnixConn) {
	uid, err := peer(c)
	if err != nil {
		return
	}
	b := make([]byte, commandBuffer)
	size, err := c.Read(b)
	if err != nil {
		return
	}
	text, _, whole := bytes.Cut(b[:size], []byte{0})
	words := strings.Split(string(text), " ")
	if whole && words[0] == "getaddrinfo" && len(words) == 8 {
		_, _ = c.Write(n.getaddrinfo(uid, words))
		return
	}
	if !whole || words[0] != "resnsend" || n.SDK < 29 {
		_, _ = c.Write([]byte("500 Command not recognized\x00")) //nolint:misspell // Android's words
		return
	}
	answer, errno := n.resnsend(uid, words)
	reply := binary.BigEndian.AppendUint32(nil, uint32(-int32(errno)))
	if errno == 0 {
		reply = binary.BigEndian.AppendUint32(nil, uint32(answer[3]&15)) // the response code
		reply = binary.BigEndian.AppendUint32(reply, uint32(len(answer)))
		reply = append(reply, answer...)
	}
	_, _ = c.Write(reply)
}

// resnsend is ResNSendCommand and ResNSendHandler. Who may not use the network
// that is asked about gets an answer by the default network, as in Android.
func (n *Netd) resnsend(uid uint32, words []string) ([]byte, unix.Errno) {
	if len(words) != 4 {
		return nil, unix.EINVAL
	}
	netID, err := strconv.ParseUint(words[1], 10, 32)
	if err != nil {
		return nil, unix.EINVAL
	}
	query, err := base64.StdEncoding.DecodeString(words[3])
	if err != nil {
		return nil, unix.EILSEQ
	}
	if len(query) < 12 {
		return nil, unix.EINVAL
	}
	if code := n.NoAnswer[uid]; code != 0 {
		return nil, unix.Errno(code)
	}
	asked := Asked{Resolver: true, UID: uid, NetID: uint32(netID)}
	defer func() { n.note(asked) }()
	network := n.network(uint32(netID))
	if errno := n.access(uid, uint32(netID)); errno != 0 {
		asked.Errno = int(errno)
		network = &n.Networks[0]
	}
	if answer, ok := network.known(query); ok {
		return answer, 0
	}
	answer, err := network.exchange(query)
	if err != nil {
		return nil, unix.ETIMEDOUT
	}
	return answer, 0
}

// known answers a query for one of the network's names, without a name server.
func (n *Network) known(query []byte) ([]byte, bool) {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil, false
	}
	q := m.Questions[0]
	addr, ok := n.Names[q.Name.String()]
	if !ok {
		return nil, false
	}
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	head := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1}
	switch {
	case q.Type == dnsmessage.TypeA && addr.Is4():
		m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: addr.As4()}}}
	case q.Type == dnsmessage.TypeAAAA && addr.Is6():
		m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AAAAResource{AAAA: addr.As16()}}}
	}
	answer, err := m.Pack()
	return answer, err == nil
}

// getaddrinfo is GetAddrInfoCmd and GetAddrInfoHandler, as all ages have them.
func (n *Netd) getaddrinfo(uid uint32, words []string) []byte {
	const failed, noName = "401\x00", 8
	no := binary.NativeEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte(failed), 4), noName)
	name, err := dnsmessage.NewName(words[1] + ".")
	if err != nil {
		return no
	}
	reply, found := []byte("222\x00"), false
	for _, q := range []struct {
		kind   dnsmessage.Type
		family uint16
	}{{dnsmessage.TypeA, unix.AF_INET}, {dnsmessage.TypeAAAA, unix.AF_INET6}} {
		if words[4] != "0" && words[4] != strconv.Itoa(int(q.family)) {
			continue
		}
		m := dnsmessage.Message{
			Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
			Questions: []dnsmessage.Question{{Name: name, Type: q.kind, Class: dnsmessage.ClassINET}},
		}
		query, err := m.Pack()
		if err != nil {
			return no
		}
		answer, errno := n.resnsend(uid, []string{"", words[7], "0", base64.StdEncoding.EncodeToString(query)})
		if errno != 0 || m.Unpack(answer) != nil {
			return no
		}
		for _, a := range m.Answers {
			address := append(binary.NativeEndian.AppendUint16(nil, q.family), 0, 0) // and no port
			switch body := a.Body.(type) {
			case *dnsmessage.AResource:
				address = append(append(address, body.A[:]...), make([]byte, 8)...)
			case *dnsmessage.AAAAResource:
				address = append(append(append(address, 0, 0, 0, 0), body.AAAA[:]...), 0, 0, 0, 0)
			default:
				continue
			}
			found = true
			for _, word := range []uint32{1, 0, uint32(q.family), unix.SOCK_STREAM, unix.IPPROTO_TCP, uint32(len(address))} {
				reply = binary.BigEndian.AppendUint32(reply, word)
			}
			reply = binary.BigEndian.AppendUint32(append(reply, address...), 0) // no canonical name
		}
	}
	if !found {
		return no
	}
	return binary.BigEndian.AppendUint32(reply, 0)
}

// exchange asks the network's name server, over the network.
func (n *Network) exchange(query []byte) ([]byte, error) {
	d := net.Dialer{Timeout: time.Second, Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		if err2 := c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MARK, int(markOf(n.NetID, 3, explicit|protected)))
		}); err2 != nil {
			return err2
		}
		return err
	}}
	c, err := d.DialContext(context.Background(), "udp", n.DNS)
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // it was only asked
	if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return nil, err
	}
	if _, err := c.Write(query); err != nil {
		return nil, err
	}
	b := make([]byte, 8192)
	size, err := c.Read(b)
	if err != nil || size < 12 {
		return nil, unix.EIO
	}
	return b[:size], nil
}
