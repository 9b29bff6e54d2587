package progress

import (
	"os"

	"golang.org/x/sys/windows"
)

// obeys says whether the console obeys escape sequences, as it has to be asked to.
func obeys(f *os.File) bool {
	var mode uint32
	handle := windows.Handle(f.Fd())
	if windows.GetConsoleMode(handle, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
