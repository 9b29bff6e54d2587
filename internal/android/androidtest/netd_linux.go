package androidtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/android"
)

// Network is one of the phone's networks.
type Network struct {
	NetID      uint32
	Permission android.Permission // that its users need
	Users      []uint32           // who may use it without (mobile_data_preferred_uids)
	DNS        string             // address and port of its name server
	// Names are answered without it: fully qualified, with the dot at the end.
	Names map[string]netip.Addr
}

// Netd is the daemon.
type Netd struct {
	// SDK is the API level: 26 is Android 8.0, 29 is 10, 35 is 15.
	SDK      int
	Networks []Network // the first one is the default
	// Users are the permissions that apps have been granted. Others have none,
	// but users of the system, below 10000, have them all.
	Users map[uint32]android.Permission
	// Secured are users under a VPN that none of their traffic may leave, Bypassing
	// those under one that lets apps choose another network (allowBypass). Users with
	// PermissionSystem pass both.
	Secured, Bypassing []uint32
	// NoAnswer is, for each user that gets none, what the resolver of Android 10 and
	// later says instead: 111 to those whose data is blocked (14 and later), 11 to those
	// whose question it refuses (13 and later), 3 where there are no servers.
	NoAnswer map[uint32]int
	// VPN is the interface of that VPN; "": its users have no way at all.
	VPN string
	// VPNID is its network, which those under it may choose; 0: none that can be chosen.
	VPNID uint32
	// Group owns both sockets beside root, with mode 0660: Android's inet (3003), in
	// which every app with the permission INTERNET is, and the shell. 0 is root's own.
	Group int

	mu        sync.Mutex
	listeners []net.Listener
	serving   sync.WaitGroup
	asked     []Asked
	leaked    []int // descriptors that netd has lost sight of
}

// Inet is the group of Android whose members may connect to netd's sockets.
const Inet = 3003

// Asked is a question that netd got.
type Asked struct {
	Resolver bool // it was a name query
	UID      uint32
	NetID    uint32
	Errno    int // what netd answered; 0 is yes
}

// The parts of a mark.
const (
	explicit  = 1 << 16
	protected = 1 << 17
)

func markOf(netID uint32, p android.Permission, more uint32) uint32 {
	return netID | uint32(p)<<18 | more
}

// Serve listens at both sockets until Close; either path may be "".
func (n *Netd) Serve(fwmarkd, resolver string) error {
	for _, s := range []struct {
		path  string
		serve func(*net.UnixConn)
	}{{fwmarkd, n.fwmark}, {resolver, n.resolve}} {
		if s.path == "" {
			continue
		}
		l, err := net.Listen("unix", s.path)
		if err != nil {
			return errors.Join(err, n.Close())
		}
		n.listeners = append(n.listeners, l)
		if err := errors.Join(os.Chmod(s.path, 0o660), os.Chown(s.path, -1, n.Group)); err != nil {
			return errors.Join(err, n.Close())
		}
		n.serving.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				n.serving.Go(func() {
					defer c.Close() //nolint:errcheck // nobody to tell
					s.serve(c.(*net.UnixConn))
				})
			}
		})
	}
	return nil
}

// Close ends it. Clients that keep their connection open keep it waiting. It is
// an error if clients have made netd leak descriptors.
func (n *Netd) Close() error {
	var err error
	for _, l := range n.listeners {
		err = errors.Join(err, l.Close())
	}
	n.listeners = nil
	n.serving.Wait()
	if len(n.leaked) > 0 {
		err = errors.Join(err, fmt.Errorf("netd has lost %d descriptors: a phone that loses all has no network", len(n.leaked)))
	}
	for _, fd := range n.leaked {
		err = errors.Join(err, unix.Close(fd))
	}
	n.leaked = nil
	return err
}

// Leaked is how many descriptors netd holds for nobody until it ends.
func (n *Netd) Leaked() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.leaked)
}

// Asked gives the questions up to now.
func (n *Netd) Asked() []Asked {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.asked)
}

func (n *Netd) note(a Asked) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, a)
}

func (n *Netd) permission(uid uint32) android.Permission {
	if p, ok := n.Users[uid]; ok {
		return p
	}
	if uid < 10000 {
		return android.PermissionSystem
	}
	return android.PermissionNone
}

func (n *Netd) network(netID uint32) *Network {
	for i := range n.Networks {
		if n.Networks[i].NetID == netID {
			return &n.Networks[i]
		}
	}
	if n.VPNID != 0 && netID == n.VPNID {
		return &Network{NetID: netID, DNS: n.Networks[0].DNS, Names: n.Networks[0].Names}
	}
	return nil
}

// access is NetworkController::checkUserNetworkAccess.
func (n *Netd) access(uid, netID uint32) unix.Errno {
	network := n.network(netID)
	has := n.permission(uid)
	switch {
	case network == nil:
		return unix.ENONET
	case has == android.PermissionSystem:
		return 0
	case n.VPNID != 0 && netID == n.VPNID:
		if slices.Contains(n.Secured, uid) || slices.Contains(n.Bypassing, uid) {
			return 0
		}
		return unix.EPERM
	case slices.Contains(n.Secured, uid):
		return unix.EPERM
	case slices.Contains(network.Users, uid), has&network.Permission == network.Permission:
		return 0
	}
	return unix.EACCES
}

// fwmark is FwmarkServer::onDataAvailable: one command, one answer, the end.
func (n *Netd) fwmark(c *net.UnixConn) {
	uid, netID, errno := n.command(c)
	n.note(Asked{UID: uid, NetID: netID, Errno: int(errno)})
	_, _ = c.Write(binary.NativeEndian.AppendUint32(nil, uint32(-int32(errno))))
}

// command is FwmarkServer::processClient.
func (n *Netd) command(c *net.UnixConn) (uid, netID uint32, errno unix.Errno) {
	uid, err := peer(c)
	if err != nil {
		return 0, 0, unix.EIO
	}
	want := 16
	if n.SDK < 28 {
		want = 12
	}
	// The buffer has room for the information of ON_CONNECT_COMPLETE behind it.
	b, control := make([]byte, want+36), make([]byte, unix.CmsgSpace(4))
	size, controlSize, _, _, err := c.ReadMsgUnix(b, control)
	if err != nil || size == 0 {
		return uid, 0, unix.ESHUTDOWN
	}
	fd := -1
	if messages, err := unix.ParseSocketControlMessage(control[:controlSize]); err == nil && len(messages) == 1 {
		if fds, err := unix.ParseUnixRights(&messages[0]); err == nil && len(fds) == 1 {
			fd = fds[0]
		}
	}
	if size != want { // found out before netd has taken hold of the descriptor
		if fd >= 0 {
			n.mu.Lock()
			n.leaked = append(n.leaked, fd)
			n.mu.Unlock()
		}
		return uid, 0, unix.EBADMSG
	}
	defer unix.Close(fd) //nolint:errcheck // it is the client's, or none
	command := binary.NativeEndian.Uint32(b)
	netID = binary.NativeEndian.Uint32(b[4:])
	switch {
	case fd < 0:
		return uid, netID, unix.EBADF
	case command != 2:
		return uid, netID, unix.EPROTO
	}
	if domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || domain != unix.AF_INET && domain != unix.AF_INET6 {
		return uid, netID, unix.EAFNOSUPPORT
	}
	if errno := n.access(uid, netID); errno != 0 {
		return uid, netID, errno
	}
	mark := markOf(netID, n.permission(uid), explicit)
	if n.permission(uid) == android.PermissionSystem {
		mark |= protected
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, int(mark)); err != nil {
		return uid, netID, unix.EPERM
	}
	return uid, netID, 0
}

// peer is the user at the other end.
func peer(c *net.UnixConn) (uid uint32, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var cred *unix.Ucred
	if err := raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return 0, err
	}
	if err != nil {
		return 0, err
	}
	return cred.Uid, nil
}
