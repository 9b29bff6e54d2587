package main_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// newConsole is a screen of its own on this test's console.
func newConsole(t *testing.T) *os.File {
	t.Helper()
	const textMode = 1 // CONSOLE_TEXTMODE_BUFFER
	create := windows.NewLazySystemDLL("kernel32.dll").NewProc("CreateConsoleScreenBuffer")
	handle, _, err := create.Call(windows.GENERIC_READ|windows.GENERIC_WRITE, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, 0, textMode, 0)
	if windows.Handle(handle) == windows.InvalidHandle {
		t.Skip("this test has no console:", err)
	}
	console := os.NewFile(handle, "console")
	t.Cleanup(func() { console.Close() }) //nolint:errcheck // it is no file
	return console
}

// onConsole starts mlget with standard error on the console, for a file of which half comes, and
// all once rest is called.
func onConsole(t *testing.T, console *os.File, env []string, args ...string) (cmd *exec.Cmd, rest func()) {
	t.Helper()
	const size = 10_000_000
	var m meter
	m.left.Store(size / 2)
	server := metered(t, size, false, &m)
	cmd = exec.CommandContext(t.Context(), "mlget", append([]string{"--links", loopback(), server.URL + "/f.bin"}, args...)...)
	cmd.Dir, cmd.Stderr, cmd.Env = t.TempDir(), console, append(os.Environ(), env...)
	check(t, cmd.Start())
	return cmd, func() { m.left.Store(2 * size) }
}

// TestConsoleIsAskedForEscapeSequences: a console of Windows 10 obeys escape sequences only once
// ENABLE_VIRTUAL_TERMINAL_PROCESSING is set, whether bars are the default or asked for.
func TestConsoleIsAskedForEscapeSequences(t *testing.T) {
	for name, args := range map[string][]string{"auto": nil, "bar": {"--progress", "bar"}} {
		t.Run(name, func(t *testing.T) {
			console := newConsole(t)
			obeys := func() bool {
				var mode uint32
				check(t, windows.GetConsoleMode(windows.Handle(console.Fd()), &mode))
				return mode&windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING != 0
			}
			if obeys() {
				t.Fatal("a new console obeys escape sequences: this test shows nothing")
			}
			cmd, rest := onConsole(t, console, nil, args...)
			waitUntil(t, "progress", func() bool { return strings.Contains(screen(t, console), "Mbit/s") })
			if !obeys() {
				t.Error("ENABLE_VIRTUAL_TERMINAL_PROCESSING is not set")
			}
			rest()
			if code := exitCode(t, cmd.Wait()); code != 0 {
				t.Errorf("exit %d", code)
			}
		})
	}
}

// TestOldConsoleGetsLines: a console that refuses escape sequences gets lines of text.
func TestOldConsoleGetsLines(t *testing.T) {
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() != nil {
		t.Skip("needs the console that testdata/wine imitates")
	}
	console := newConsole(t)
	cmd, rest := onConsole(t, console, []string{"WINE_OLD_CONSOLE=1"})
	waitUntil(t, "a line of progress", func() bool {
		shown := screen(t, console)
		return strings.Contains(shown, "%") && strings.Contains(shown, "Mbit/s")
	})
	rest()
	if code := exitCode(t, cmd.Wait()); code != 0 {
		t.Errorf("exit %d", code)
	}
	if shown := screen(t, console); strings.ContainsAny(shown, "\x1b←") || strings.Contains(shown, "[J") {
		t.Errorf("an escape sequence is shown:\n%s", shown)
	}
}

// TestBarsAreRedrawn: on a console the progress stays where it is, and no escape sequence is seen.
func TestBarsAreRedrawn(t *testing.T) {
	console := newConsole(t)
	cmd, rest := onConsole(t, console, nil)
	waitUntil(t, "progress", func() bool {
		shown := screen(t, console)
		return strings.Contains(shown, "f.bin") && strings.Contains(shown, "%") && strings.Contains(shown, "Mbit/s")
	})
	time.Sleep(2 * time.Second) // it is redrawn several times
	shown := screen(t, console)
	rest()
	if code := exitCode(t, cmd.Wait()); code != 0 {
		t.Errorf("exit %d", code)
	}
	const most = 6 // lines of progress of one link
	if n := strings.Count(shown, "\n"); n > most || strings.ContainsAny(shown, "\x1b←") || strings.Contains(shown, "[J") {
		t.Errorf("%d lines:\n%s", n, shown)
	}
	if n := strings.Count(shown, "Mbit/s"); n > most {
		t.Errorf("%d rates are shown at once:\n%s", n, shown)
	}
}

// screen is the text of a console, down to where its cursor is.
func screen(t *testing.T, console *os.File) string {
	t.Helper()
	var info windows.ConsoleScreenBufferInfo
	check(t, windows.GetConsoleScreenBufferInfo(windows.Handle(console.Fd()), &info))
	read := windows.NewLazySystemDLL("kernel32.dll").NewProc("ReadConsoleOutputCharacterW")
	line := make([]uint16, info.Size.X)
	var text strings.Builder
	for y := range info.CursorPosition.Y + 1 {
		var n uint32
		at := uintptr(uint16(y)) << 16 // a COORD
		if ok, _, err := read.Call(console.Fd(), uintptr(unsafe.Pointer(&line[0])), uintptr(len(line)), at, uintptr(unsafe.Pointer(&n))); ok == 0 {
			t.Fatal(err)
		}
		text.WriteString(strings.TrimRight(windows.UTF16ToString(line[:n]), " ") + "\n")
	}
	return text.String()
}
