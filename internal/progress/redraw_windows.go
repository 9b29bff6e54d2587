package progress

import (
	"os"

	"golang.org/x/sys/windows"
)

// obeys asks the console to obey escape sequences, and says whether it will: those before
// Windows 10 do not.
func obeys(f *os.File) bool {
	var mode uint32
	handle := windows.Handle(f.Fd())
	if windows.GetConsoleMode(handle, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(handle, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
