package androidtest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Access is something that a confined program has asked for.
type Access struct {
	What       string // a path, or a word for what is no file
	Object     string // the table's; "": it has none
	Class      string
	Permission string
}

func (a Access) String() string {
	return fmt.Sprintf("%s (%s of %s)", a.What, a.Permission, cmp.Or(a.Object, "nothing that the table knows"))
}

// SELinux stands between a program and the files, sockets and programs of a phone,
// as the policy of a domain does: what the domain may not do fails with EACCES, and
// all that was asked for is kept. It sees system calls by seccomp's notifications
// (seccomp_unotify(2)); a program that is looked at does not notice.
//
// It judges the last element of a path and the symbolic links on the way that
// matter, not the right to search each folder, and it is no protection: a program
// with two threads could change a path behind its back.
type SELinux struct {
	Policy Policy

	mu      sync.Mutex
	refused []Access
	unknown []Access // of what the table does not know; it was let through
	asked   int
	done    chan struct{}
}

// watched are the calls that are looked at.
func watched() []uint32 {
	return []uint32{
		unix.SYS_OPEN, unix.SYS_OPENAT, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX,
		unix.SYS_ACCESS, unix.SYS_FACCESSAT, unix.SYS_READLINK, unix.SYS_READLINKAT, unix.SYS_LINK, unix.SYS_LINKAT,
		unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_SENDTO, unix.SYS_SOCKET, unix.SYS_IOCTL, unix.SYS_EXECVE,
	}
}

// ConfineTo puts this thread under the eyes of a SELinux that has the other end of
// the connection fd, for ever; what it executes inherits it. Like Confine it keeps
// the thread to itself.
func ConfineTo(fd int) error {
	runtime.LockOSThread()
	stmt := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	program := []unix.SockFilter{stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, atNumber)}
	for _, number := range watched() {
		program = append(program, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1},
			stmt(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_USER_NOTIF))
	}
	program = append(program, stmt(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW))
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	const setModeFilter = 1
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, setModeFilter, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return os.NewSyscallError("seccomp", errno)
	}
	return errors.Join(unix.Sendmsg(fd, []byte{0}, unix.UnixRights(int(listener)), nil, 0), unix.Close(int(listener)), unix.Close(fd))
}

// Watch begins to watch the program that confines itself to the other end of c.
func (s *SELinux) Watch(c *net.UnixConn) error {
	defer c.Close() //nolint:errcheck // it was only read
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := c.ReadMsgUnix(make([]byte, 1), control)
	if err != nil {
		return err
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) != 1 {
		return fmt.Errorf("no listener came: %w", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return err
	}
	s.done = make(chan struct{})
	go s.serve(fds[0])
	return nil
}

// Wait waits for the end of the program, and of what it has started.
func (s *SELinux) Wait() { <-s.done }

// Refused gives what was refused, each once.
func (s *SELinux) Refused() []Access { return s.list(&s.refused) }

// Unknown gives what was asked for and is not in the table, each once.
func (s *SELinux) Unknown() []Access { return s.list(&s.unknown) }

func (s *SELinux) list(of *[]Access) []Access {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(*of)
}

// Asked is how often something was asked for.
func (s *SELinux) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Struct seccomp_notif: an id, the process, flags, and struct seccomp_data. Struct
// seccomp_notif_resp: the id, a result, an error and flags.
const (
	notifBytes = 80
	replyBytes = 24
	callAt     = 16
	argsAt     = 32
)

func (s *SELinux) serve(listener int) {
	defer close(s.done)
	defer unix.Close(listener) //nolint:errcheck // nothing was written
	for {
		// A listener whose processes have all ended hangs up.
		poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			if poll[0].Revents != 0 {
				return
			}
			continue
		}
		var notif [notifBytes]byte
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&notif))); errno != 0 {
			continue // the process has ended meanwhile
		}
		c := watchedCall{pid: int(binary.NativeEndian.Uint32(notif[8:])), number: binary.NativeEndian.Uint32(notif[callAt:])}
		for k := range c.args {
			c.args[k] = binary.NativeEndian.Uint64(notif[argsAt+8*k:])
		}
		var reply [replyBytes]byte
		copy(reply[:8], notif[:8])
		if s.refuses(&c) {
			errno := int32(unix.EACCES)
			binary.NativeEndian.PutUint32(reply[16:], uint32(-errno))
		} else {
			binary.NativeEndian.PutUint32(reply[20:], unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE)
		}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&reply)))
	}
}

// watchedCall is a system call under way.
type watchedCall struct {
	pid    int
	number uint32
	args   [6]uint64
}

// here is AT_FDCWD as an argument.
const here = ^uint64(99)

// refuses judges a call.
func (s *SELinux) refuses(c *watchedCall) bool {
	a := c.args
	switch c.number {
	case unix.SYS_OPEN:
		return s.open(c, c.path(here, a[0]), a[1])
	case unix.SYS_OPENAT:
		return s.open(c, c.path(a[0], a[1]), a[2])
	case unix.SYS_STAT, unix.SYS_ACCESS:
		return s.file(c, c.path(here, a[0]), true, "getattr")
	case unix.SYS_LSTAT:
		return s.file(c, c.path(here, a[0]), false, "getattr")
	case unix.SYS_FACCESSAT:
		return s.file(c, c.path(a[0], a[1]), true, "getattr")
	case unix.SYS_NEWFSTATAT:
		return s.file(c, c.path(a[0], a[1]), a[3]&unix.AT_SYMLINK_NOFOLLOW == 0, "getattr")
	case unix.SYS_STATX:
		return s.file(c, c.path(a[0], a[1]), a[2]&unix.AT_SYMLINK_NOFOLLOW == 0, "getattr")
	case unix.SYS_READLINK:
		return s.file(c, c.path(here, a[0]), false, "read")
	case unix.SYS_READLINKAT:
		return s.file(c, c.path(a[0], a[1]), false, "read")
	case unix.SYS_LINK:
		return s.file(c, c.path(here, a[0]), false, "link")
	case unix.SYS_LINKAT:
		return s.file(c, c.path(a[0], a[1]), false, "link")
	case unix.SYS_EXECVE:
		file := c.path(here, a[0])
		return s.judge(Access{file, programOf(file), "file", "execute_no_trans"})
	case unix.SYS_CONNECT, unix.SYS_BIND:
		return s.address(c)
	case unix.SYS_SOCKET:
		const generic = unix.NETLINK_GENERIC
		if a[0] == unix.AF_NETLINK && a[2] == generic {
			return s.judge(Access{"netlink generic", "netlink generic", "netlink_generic_socket", "create"})
		}
	case unix.SYS_SENDTO:
		return s.netlink(c)
	case unix.SYS_IOCTL:
		return s.ioctl(c)
	}
	return false
}

// judge decides by the table, and keeps what it refuses or does not know.
func (s *SELinux) judge(a Access) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	yes, known := s.Policy.Allows(a.Object, a.Class, a.Permission)
	list := &s.refused
	switch {
	case yes:
		return false
	case !known:
		list = &s.unknown
	}
	if !slices.Contains(*list, a) {
		*list = append(*list, a)
	}
	return known
}

// open judges by what a file is opened for. Without O_CREAT one that is not there
// is no matter.
func (s *SELinux) open(c *watchedCall, file string, flags uint64) bool {
	permissions := []string{"open"}
	switch {
	case flags&unix.O_PATH != 0:
		permissions = nil
	case flags&unix.O_ACCMODE == unix.O_RDONLY:
		permissions = append(permissions, "read")
	case flags&unix.O_ACCMODE == unix.O_WRONLY:
		permissions = append(permissions, "write")
	default:
		permissions = append(permissions, "read", "write")
	}
	if flags&unix.O_APPEND != 0 {
		permissions = append(permissions, "append")
	}
	if flags&unix.O_CREAT != 0 && c.class(file, true) == "" {
		return s.judge(Access{file, objectOf(normal(file)), "file", "create"})
	}
	return s.file(c, file, flags&unix.O_NOFOLLOW == 0, permissions...)
}

// file judges what is done to a file that is there.
func (s *SELinux) file(c *watchedCall, file string, follow bool, permissions ...string) bool {
	if file == "" { // a descriptor: it was judged when it was opened
		return false
	}
	name := normal(file)
	// Links on the way that the table knows of.
	for _, link := range [...]string{"/proc/net", "/etc"} {
		if strings.HasPrefix(name, link+"/") && c.class(link, false) == "lnk_file" && s.judge(Access{link, link, "lnk_file", "read"}) {
			return true
		}
	}
	for _, dir := range [...]string{"/sys/class/net", "/sys/class/power_supply", "/sys/class/hwmon", "/sys/bus/iio/devices"} {
		rest, below := strings.CutPrefix(name, dir+"/")
		if entry, _, more := strings.Cut(rest, "/"); below && more && c.class(path.Join(dir, entry), false) == "lnk_file" {
			link := path.Join(dir, entry)
			if s.judge(Access{link, objectOf(link), "lnk_file", "read"}) {
				return true
			}
		}
	}
	class := c.class(file, follow)
	if class == "" {
		return false
	}
	object := objectOf(name)
	if strings.HasPrefix(name, "/sys/class/net/") && strings.Count(name, "/") > 4 {
		object = "/sys/devices/virtual/net/NAME/*"
	}
	if c.number == unix.SYS_READLINK || c.number == unix.SYS_READLINKAT {
		if class != "lnk_file" { // which the kernel says before it asks
			return false
		}
	}
	for _, permission := range permissions {
		if s.judge(Access{file, object, class, permission}) {
			return true
		}
	}
	return false
}

// address judges the address of a connect or a bind.
func (s *SELinux) address(c *watchedCall) bool {
	b := c.read(c.args[1], int(min(c.args[2], 128)))
	if len(b) < 2 {
		return false
	}
	switch family := binary.NativeEndian.Uint16(b); {
	case family == unix.AF_UNIX:
		name, _, _ := bytes.Cut(b[2:], []byte{0})
		if len(name) == 0 { // abstract
			return false
		}
		file := c.absolute(here, string(name))
		if c.number == unix.SYS_BIND {
			return s.judge(Access{file, objectOf(normal(file)), "sock_file", "create"})
		}
		return s.file(c, file, true, "write")
	case family == unix.AF_NETLINK && c.number == unix.SYS_BIND:
		return s.judge(Access{"bind of a netlink socket", "netlink route", "netlink_route_socket", "bind"})
	}
	return false
}

// netlink judges a request to the kernel, as what a socket sends that has no
// destination but AF_NETLINK's.
func (s *SELinux) netlink(c *watchedCall) bool {
	to := c.read(c.args[4], 2)
	if len(to) < 2 || binary.NativeEndian.Uint16(to) != unix.AF_NETLINK {
		return false
	}
	b := c.read(c.args[1], unix.SizeofNlMsghdr)
	if len(b) < unix.SizeofNlMsghdr {
		return false
	}
	access := Access{"netlink request", "netlink route", "netlink_route_socket", "nlmsg_read"}
	if binary.NativeEndian.Uint16(b[4:]) == unix.RTM_GETLINK {
		access.What, access.Permission = "RTM_GETLINK", s.Policy.getLink
	}
	return s.judge(access)
}

// ioctl judges requests about interfaces.
func (s *SELinux) ioctl(c *watchedCall) bool {
	name := map[uint64]string{
		unix.SIOCGIFNAME: "SIOCGIFNAME", unix.SIOCGIFFLAGS: "SIOCGIFFLAGS", unix.SIOCGIFHWADDR: "SIOCGIFHWADDR",
		unix.SIOCGIFINDEX: "SIOCGIFINDEX", unix.SIOCETHTOOL: "SIOCETHTOOL", unix.SIOCGIFADDR: "SIOCGIFADDR", unix.SIOCGIFMTU: "SIOCGIFMTU",
	}[c.args[1]&0xffffffff]
	if name == "" {
		return false
	}
	return s.judge(Access{"ioctl " + name, "ioctl udp", "udp_socket", name})
}

// normal is a path as the table has it: processes are one.
func normal(file string) string {
	file = path.Clean(file)
	f := strings.SplitN(file, "/", 4)
	if len(f) > 2 && f[1] == "proc" && strings.Trim(f[2], "0123456789") == "" && f[2] != "" {
		f[2] = "self"
		return strings.Join(f, "/")
	}
	return file
}

// programOf is what the table calls a program for execve.
func programOf(file string) string {
	switch {
	case strings.HasPrefix(file, "/data/data/com.termux/"):
		return "exec $PREFIX/bin"
	case strings.HasPrefix(file, "/data/app/"):
		return "exec /data/app/*/lib"
	case strings.HasPrefix(file, "/data/local/tmp/"):
		return "exec /data/local/tmp"
	case strings.HasSuffix(file, "/linker64"):
		return "exec linker64"
	case file == "/system/bin/sh":
		return "exec sh"
	case file == "/system/bin/getprop":
		return "exec toybox, getprop"
	case strings.HasPrefix(file, "/system/bin/"):
		return "exec am, cmd, settings"
	}
	return ""
}

// path reads a path, relative to the descriptor dir; "": it is that descriptor.
func (c *watchedCall) path(dir, at uint64) string {
	name, _, _ := bytes.Cut(c.read(at, unix.PathMax), []byte{0})
	if len(name) == 0 {
		return ""
	}
	return c.absolute(dir, string(name))
}

// absolute is the whole of a path that is relative to the descriptor dir.
func (c *watchedCall) absolute(dir uint64, name string) string {
	if name[0] == '/' {
		return name
	}
	base := fmt.Sprintf("/proc/%d/cwd", c.pid)
	if int32(dir) != unix.AT_FDCWD {
		base = fmt.Sprintf("/proc/%d/fd/%d", c.pid, int32(dir))
	}
	folder, err := os.Readlink(base)
	if err != nil {
		return ""
	}
	root, err := os.Readlink(fmt.Sprintf("/proc/%d/root", c.pid))
	if err == nil && root != "/" {
		folder = cmp.Or(strings.TrimPrefix(folder, root), "/")
	}
	return filepath.Join(folder, name)
}

// class is the class of a file, "" where there is none.
func (c *watchedCall) class(file string, follow bool) string {
	stat := os.Lstat
	if follow {
		stat = os.Stat
	}
	if rest, ok := strings.CutPrefix(file, "/proc/self"); ok {
		file = fmt.Sprintf("/proc/%d%s", c.pid, rest)
		if rest == "" && !follow {
			return "lnk_file"
		}
	}
	info, err := stat(fmt.Sprintf("/proc/%d/root%s", c.pid, file))
	switch {
	case err != nil:
		return ""
	case info.IsDir():
		return "dir"
	case info.Mode()&os.ModeSymlink != 0:
		return "lnk_file"
	case info.Mode()&os.ModeSocket != 0:
		return "sock_file"
	case info.Mode()&os.ModeCharDevice != 0:
		return "chr_file"
	case info.Mode()&os.ModeNamedPipe != 0:
		return "fifo_file"
	}
	return "file"
}

// read gives what a process has at an address, as far as there is something.
func (c *watchedCall) read(at uint64, n int) []byte {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", c.pid))
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // it is only read
	b := make([]byte, n)
	got, _ := f.ReadAt(b, int64(at)) // up to the end of the mapping
	return b[:got]
}
