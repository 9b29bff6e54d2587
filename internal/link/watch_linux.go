package link

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Watch reports changes of interfaces, addresses and default routes until ctx
// ends; then the channel is closed. A reader that lags loses nothing but
// detail: what the kernel cannot queue any more becomes a ChangeUnknown.
func Watch(ctx context.Context) (<-chan Change, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("watch links: %w", err)
	}
	groups := uint32(unix.RTMGRP_LINK | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR |
		unix.RTMGRP_IPV4_ROUTE | unix.RTMGRP_IPV6_ROUTE)
	if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
		return nil, errors.Join(fmt.Errorf("watch links: %w", err), unix.Close(fd))
	}
	// After the bind, so that no interface falls between the two.
	snap, err := takeSnapshot(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("watch links: %w", err), unix.Close(fd))
	}
	names := make(map[int]string, len(snap.links))
	for _, l := range snap.links {
		names[l.index] = l.name
	}
	w := &watcher{names: names, changes: make(chan Change, 16), buf: make([]byte, receiveBuffer)}
	// Non-blocking, so the runtime's poller waits for it and a deadline works.
	socket := os.NewFile(uintptr(fd), "netlink")
	go w.run(ctx, socket)
	return w.changes, nil
}

// watcher belongs to the goroutine of run.
type watcher struct {
	names   map[int]string // of interfaces, by index
	changes chan Change
	buf     []byte
}

func (w *watcher) run(ctx context.Context, socket *os.File) {
	defer close(w.changes)
	defer socket.Close() //nolint:errcheck // nothing was written
	stop := context.AfterFunc(ctx, func() {
		socket.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // fails when the socket is closed, which is as good
	})
	defer stop()
	raw, err := socket.SyscallConn()
	if err != nil {
		return
	}
	for ctx.Err() == nil {
		n, err := w.receive(raw)
		switch {
		case errors.Is(err, unix.ENOBUFS):
			if !w.send(ctx, Change{Kind: ChangeUnknown}) {
				return
			}
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return
		case !w.report(ctx, w.buf[:n]):
			return
		}
	}
}

// receive gives the length of a datagram of the kernel's in w.buf.
func (w *watcher) receive(raw interface {
	Read(f func(fd uintptr) bool) error
},
) (n int, err error) {
	var recvErr error
	err = raw.Read(func(fd uintptr) bool {
		var from unix.Sockaddr
		n, from, recvErr = unix.Recvfrom(int(fd), w.buf, 0)
		if errors.Is(recvErr, unix.EAGAIN) {
			return false
		}
		if recvErr == nil && !fromKernel(from) {
			n = 0
		}
		return true
	})
	if err == nil {
		err = recvErr
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

// report sends the changes of one datagram; false: ctx has ended.
func (w *watcher) report(ctx context.Context, b []byte) bool {
	for len(b) > 0 {
		m, rest, err := nextMessage(b)
		if err != nil {
			return w.send(ctx, Change{Kind: ChangeUnknown})
		}
		b = rest
		for _, c := range w.changesOf(m) {
			if !w.send(ctx, c) {
				return false
			}
		}
	}
	return true
}

func (w *watcher) changesOf(m message) []Change {
	switch m.kind {
	case unix.RTM_NEWLINK:
		if l, ok := parseLink(m.body); ok {
			w.names[l.index] = l.name
			ready := l.flags&unix.IFF_UP != 0 && l.flags&unix.IFF_LOWER_UP != 0
			return []Change{{Kind: ChangeLink, Index: l.index, Name: l.name, Gone: !ready}}
		}
	case unix.RTM_DELLINK:
		if l, ok := parseLink(m.body); ok {
			delete(w.names, l.index)
			return []Change{{Kind: ChangeLink, Index: l.index, Name: l.name, Gone: true}}
		}
	case unix.RTM_NEWADDR, unix.RTM_DELADDR:
		// An address that is still being checked for duplicates is announced
		// again when it can be used.
		if a, ok := parseAddr(m.body); ok && a.flags&unix.IFA_F_TENTATIVE == 0 {
			return []Change{{
				Kind: ChangeAddress, Index: a.index, Name: w.names[a.index],
				Gone: m.kind == unix.RTM_DELADDR,
			}}
		}
	case unix.RTM_NEWROUTE, unix.RTM_DELROUTE:
		r, ok := parseRoute(m.body)
		if !ok || r.dstLen > halfDefault || r.kind != unix.RTN_UNICAST {
			return nil
		}
		changes := make([]Change, 0, len(r.devs))
		for _, dev := range r.devs {
			changes = append(changes, Change{
				Kind: ChangeRoute, Index: dev, Name: w.names[dev],
				Gone: m.kind == unix.RTM_DELROUTE,
			})
		}
		return changes
	}
	return nil
}

func (w *watcher) send(ctx context.Context, c Change) bool {
	select {
	case w.changes <- c:
		return true
	case <-ctx.Done():
		return false
	}
}
