package main_test

import (
	"os"
	"os/signal"

	"golang.org/x/sys/windows"
)

// interrupt is Ctrl-C, which goes to all programs of the console: to this one, too, and to those
// of other tests, which must not run at the same time.
func interrupt(*os.Process) error {
	signal.Notify(make(chan os.Signal, 1), os.Interrupt) // or it would end this one
	return windows.GenerateConsoleCtrlEvent(windows.CTRL_C_EVENT, 0)
}
