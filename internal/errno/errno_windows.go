package errno

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// What connecting and reading return.
const (
	ConnRefused    = windows.WSAECONNREFUSED
	ConnReset      = windows.WSAECONNRESET
	NetUnreachable = windows.WSAENETUNREACH
)

// resets has WSAECONNABORTED as well: "Windows Sockets Error Codes" has it for a connection
// that was ended by this side's protocol stack, as it is when bytes come after the peer's reset.
func resets() []syscall.Errno { return []syscall.Errno{ConnReset, windows.WSAECONNABORTED} }

func unreachables() []syscall.Errno {
	return []syscall.Errno{NetUnreachable, windows.WSAEHOSTUNREACH}
}

func scarcities() []syscall.Errno {
	return []syscall.Errno{windows.WSAEMFILE, windows.WSAENOBUFS, windows.ERROR_TOO_MANY_OPEN_FILES}
}
