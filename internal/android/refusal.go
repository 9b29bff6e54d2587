package android

import (
	"errors"
	"fmt"
	"syscall"
)

// Errors of Select.
var (
	// ErrUnreachable says that netd could not be asked at all, or did not answer.
	ErrUnreachable = errors.New("netd cannot be reached")
	// ErrReply says that netd's answer makes no sense.
	ErrReply = errors.New("netd gave an answer that makes no sense")
)

// Numbers of Linux, which netd's replies have whatever system this is built for.
const (
	errnoPerm     = 1
	noServers     = 3 // of the resolver's: no server is configured
	errnoBadFD    = 9
	notEvaluated  = 11 // of the resolver's: EAI_SYSTEM
	errnoAccess   = 13
	errnoInvalid  = 22
	errnoNoNet    = 64
	errnoBadMsg   = 74
	errnoIllegal  = 84
	errnoTooLong  = 90
	errnoTimedOut = 110
	errnoRefused  = 111
	errnoMax      = 4095
)

// Refusal is netd's "no" to a socket that is to use a network.
type Refusal struct {
	NetID uint32
	Errno int // of Linux, positive
}

// Error says in plain words what netd's number means (system/netd,
// NetworkController::checkUserNetworkAccess).
func (r *Refusal) Error() string {
	switch r.Errno {
	case errnoPerm:
		return "not allowed by Android: a VPN is up, and lets this app past it nowhere"
	case errnoAccess:
		return "not allowed by Android: the network is up in the background only, and this user lacks the permission CHANGE_NETWORK_STATE"
	case errnoNoNet:
		return fmt.Sprintf("not known to Android: network %d is gone", r.NetID)
	}
	return fmt.Sprintf("not allowed by Android: %v", syscall.Errno(r.Errno))
}

// Permission says whether the refusal is for want of a permission, so that
// another caller might have more luck.
func (r *Refusal) Permission() bool { return r.Errno == errnoAccess }

// VPN says whether a VPN stands in the way.
func (r *Refusal) VPN() bool { return r.Errno == errnoPerm }
