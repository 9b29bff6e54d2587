// Package launch knows how this process was started, and starts others in the same
// way: executed, or by Android's loader where an app may not execute its own files.
package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Launch is how this process was started.
//
// From Android 10 on, an app of targetSdk 29 or later (Google Play's Termux) may
// map its own files as programs and not execute them. Its shell starts
// "/system/bin/linker64 /path/mlget ARGS" instead. bionic hides the extra word
// from programs of its own libc only, so Go sees its own path as the first
// argument, and the loader as its executable.
type Launch struct {
	// Args are the program's arguments, without its own name.
	Args []string
	// Name is the base name that the program was called by, a link's perhaps, without .exe; "" where
	// it cannot be told.
	Name string
	// Path is the program's file; "" where it cannot be told.
	Path string
	// loader starts other programs of the app; "": they are executed.
	loader string
}

// Of says how this process was started. args are os.Args.
func Of(args []string) Launch {
	self, err := os.Executable()
	if err != nil {
		self = ""
	}
	return of(args, self, "/proc/self/maps")
}

func of(args []string, self, maps string) Launch {
	p := Launch{Args: args[min(1, len(args)):], Path: self}
	if len(args) > 0 {
		p.Name = nameOf(args[0])
	}
	if base := filepath.Base(self); base != "linker64" && base != "linker" {
		return p
	}
	p.loader, p.Path = self, ""
	mapped := mappedFiles(maps)
	// Termux's own Go has dropped the word already: then the next one is an argument.
	if len(p.Args) > 0 && filepath.IsAbs(p.Args[0]) && isMapped(p.Args[0], mapped) {
		p.Path, p.Args = p.Args[0], p.Args[1:]
		p.Name = nameOf(p.Path)
		return p
	}
	if path := os.Getenv("TERMUX_EXEC__PROC_SELF_EXE"); filepath.IsAbs(path) && isMapped(path, mapped) {
		p.Path = path
	}
	return p
}

func nameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), ".exe") }

// errNoPath says that the program's own file is unknown.
var errNoPath = errors.New("cannot tell where this program's own file is")

// Self returns the words that start this program anew, to be followed by its arguments.
func (p Launch) Self() ([]string, error) {
	if p.Path == "" {
		return nil, errNoPath
	}
	return p.Command(p.Path), nil
}

// Command returns the words that start another program of the app: program by
// itself, or by the loader where this one was started so, since the app may not
// execute its files then. Of a script the loader starts the interpreter.
func (p Launch) Command(program string) []string {
	if p.loader == "" || strings.HasPrefix(program, "/system/") {
		return []string{program}
	}
	words := []string{program}
	if interpreter := interpreterOf(program); interpreter != nil {
		words = slices.Concat(interpreter, words)
	}
	if strings.HasPrefix(words[0], "/system/") {
		return words
	}
	return slices.Insert(words, 0, p.loader)
}

// maxShebang is how much of a script's first line Linux reads (BINPRM_BUF_SIZE).
const maxShebang = 256

// interpreterOf gives the interpreter of a script and its argument, nil if program is none.
func interpreterOf(program string) []string {
	f, err := os.Open(program)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // it is only read
	b := make([]byte, maxShebang)
	n, err := io.ReadFull(f, b)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return parseShebang(b[:n])
}

func parseShebang(b []byte) []string {
	line, _, whole := bytes.Cut(b, []byte("\n"))
	text, ok := strings.CutPrefix(string(line), "#!")
	if !ok || !whole && len(b) == maxShebang { // the name may have been cut
		return nil
	}
	name := strings.Trim(text, " \t")
	argument := ""
	if at := strings.IndexAny(name, " \t"); at >= 0 {
		name, argument = name[:at], strings.Trim(name[at:], " \t")
	}
	switch {
	case !filepath.IsAbs(name):
		return nil
	case argument != "":
		return []string{name, argument}
	}
	return []string{name}
}

// mappedFiles gives the inodes of the files that are mapped into this process as
// code. Only inodes are compared: /data/user/0 and /data/data are one folder, and
// file systems of several devices show another number here than stat does.
func mappedFiles(maps string) map[uint64]bool {
	text, err := os.ReadFile(maps)
	if err != nil {
		return nil
	}
	return parseMaps(text)
}

// parseMaps reads lines like
// "7f00-7f08 r-xp 00000000 fe:2c 12345  /data/…/mlget" (proc_pid_maps(5)).
func parseMaps(text []byte) map[uint64]bool {
	inodes := make(map[uint64]bool)
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 6 || len(f[1]) != 4 || f[1][2] != 'x' {
			continue
		}
		if inode, err := strconv.ParseUint(f[4], 10, 64); err == nil && inode != 0 {
			inodes[inode] = true
		}
	}
	return inodes
}

func isMapped(path string, inodes map[uint64]bool) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	inode, ok := inodeOf(info)
	return ok && inodes[inode]
}

// String is how the program was started, for a bug report.
func (p Launch) String() string {
	if p.loader == "" {
		return "executed"
	}
	return fmt.Sprintf("started by %s", p.loader)
}
