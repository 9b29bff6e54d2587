package fetch

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// waiting says whether a read of a socket would not have to wait, for bytes, the end
// or an error. recv has no flag for a look that does not wait, hence WSAPoll. When that
// fails the connection's silence cannot be checked, so that it is not to be used again.
func waiting(fd uintptr) bool {
	const pollIn = 0x0300 // POLLIN of winsock2.h
	poll := struct {      // WSAPOLLFD
		fd     windows.Handle
		events int16
		found  int16
	}{fd: windows.Handle(fd), events: pollIn}
	proc := windows.NewLazySystemDLL("ws2_32.dll").NewProc("WSAPoll")
	if proc.Find() != nil {
		return true
	}
	n, _, _ := proc.Call(uintptr(unsafe.Pointer(&poll)), 1, 0)
	return int32(n) != 0
}
