package progress

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	xterm "golang.org/x/term"
)

// What is taken for the size of a screen that does not tell.
const (
	someColumns = 80
	someLines   = 24
)

// screen is a terminal on which a block of lines is shown, below all else that is
// printed, and replaced by the next one.
type screen struct {
	w       io.Writer
	file    *os.File // w, if it is one; else nil
	shown   []string
	columns int // when they were shown
	gone    bool
}

func newScreen(w io.Writer) screen {
	f, _ := w.(*os.File)
	return screen{w: w, file: f}
}

// Columns is how wide the terminal is on which w is shown; 0: it is shown on none.
func Columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if c, _, err := xterm.GetSize(int(f.Fd())); err == nil {
			return c
		}
	}
	return 0
}

// size is asked for at every drawing: a window may change its size.
func (s *screen) size() (columns, lines int) {
	if s.file != nil {
		if c, l, err := xterm.GetSize(int(s.file.Fd())); err == nil && c > 0 && l > 0 {
			return c, l
		}
	}
	return someColumns, someLines
}

// show replaces the block.
func (s *screen) show(lines []string, columns int) {
	if columns == s.columns && slices.Equal(lines, s.shown) {
		return
	}
	var b strings.Builder
	b.WriteString(s.erase(columns))
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	s.write(b.String())
	s.shown, s.columns = lines, columns
}

// above prints text, which ends with a line's end, above the block.
func (s *screen) above(text string) {
	columns, _ := s.size()
	var b strings.Builder
	b.WriteString(s.erase(columns))
	b.WriteString(text)
	for _, line := range s.shown {
		b.WriteString(line + "\n")
	}
	s.write(b.String())
	s.columns = columns
}

// erase goes up to where the block began, and clears from there on. A window that
// became narrower has broken its lines into several.
func (s *screen) erase(columns int) string {
	up := 0
	for _, line := range s.shown {
		up += max((cells(line)+columns-1)/columns, 1)
	}
	if up == 0 {
		return ""
	}
	return "\x1b[" + strconv.Itoa(up) + "A\r\x1b[J"
}

// write gives up a terminal that is gone.
func (s *screen) write(text string) {
	if s.gone {
		return
	}
	_, err := io.WriteString(s.w, text)
	s.gone = err != nil
}
