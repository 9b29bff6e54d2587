package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/event/eventtest"
)

// openTerminal gives the two ends of a pseudo-terminal of a width in cells: what
// is written to slave is read from master.
func openTerminal(t *testing.T, width uint16) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width}); err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// onTerminal runs the two links' run on a terminal and gives what it was sent.
func onTerminal(t *testing.T, width uint16, cfg Config) string {
	t.Helper()
	master, slave := openTerminal(t, width)
	got := make(chan string)
	go func() {
		all, _ := io.ReadAll(master) // ends with EIO when the slave is closed
		got <- string(all)
	}()
	showOn(slave, eventtest.TwoLinks(), cfg)
	if err := slave.Close(); err != nil {
		t.Error(err)
	}
	return strings.ReplaceAll(<-got, "\r\n", "\n")
}

func TestTerminalWidths(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	for _, width := range []uint16{0, 1, 2, 7, 20, 40, 60, 80, 250, 60000} {
		out := onTerminal(t, width, Config{Mode: ModeAuto})
		if width == 0 { // it does not tell
			width = someColumns
		}
		last, everything := lastFrame(out)
		if i := unsafe(everything); i >= 0 {
			t.Errorf("width %d: unprintable character at %d of %q", width, i, everything)
		}
		for line := range strings.Lines(last) {
			line = strings.TrimSuffix(line, "\n")
			if !strings.HasPrefix(line, "mlget: ") && utf8.RuneCountInString(line) > int(width) {
				t.Errorf("width %d: line of %d cells: %q", width, utf8.RuneCountInString(line), line)
			}
		}
		if width >= 20 && (!strings.Contains(last, "wlan0") || !strings.Contains(last, "total")) {
			t.Errorf("width %d: rows are missing: %q", width, last)
		}
	}
}

func TestAutoOnATerminal(t *testing.T) {
	for _, c := range []struct {
		term string
		cfg  Config
		bars bool
	}{
		{"xterm", Config{Mode: ModeAuto}, true},
		{"xterm", Config{}, true},
		{"dumb", Config{Mode: ModeAuto}, false},
		{"xterm", Config{Mode: ModeAuto, Quiet: true}, false},
		{"xterm", Config{Mode: ModeNone}, false},
		{"dumb", Config{Mode: ModeBar}, true},
	} {
		t.Setenv("TERM", c.term)
		if out := onTerminal(t, 80, c.cfg); strings.Contains(out, "total") != c.bars {
			t.Errorf("TERM=%s, %+v: %q", c.term, c.cfg, out)
		}
	}
	t.Setenv("TERM", "dumb")
	if out := onTerminal(t, 80, Config{}); !strings.Contains(out, "\nmlget: 100 %, ") || unsafe(out) >= 0 {
		t.Errorf("on a dumb terminal: %q", out)
	}
}
