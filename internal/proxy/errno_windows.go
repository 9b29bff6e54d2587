package proxy

import "golang.org/x/sys/windows"

// What a peer answers, in the words of Winsock, which syscall's are not.
const (
	connRefused = windows.WSAECONNREFUSED
	connReset   = windows.WSAECONNRESET
)
