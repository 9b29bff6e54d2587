package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/launch"
)

// aria2cName is the name under which this program is aria2c.
func aria2cName() string {
	if runtime.GOOS == "windows" {
		return "aria2c.exe"
	}
	return "aria2c"
}

// installAria2c makes a link in a directory by which this program is aria2c. Only a symbolic
// link that is there already is replaced; a hard link to this program stays.
func installAria2c(dir string, stdio console.IO) error {
	self := launch.Of(os.Args).Path
	if self == "" {
		return exit.FileError{Err: errors.New("--install-aria2c: cannot tell where this program's own file is")}
	}
	name := filepath.Join(dir, aria2cName())
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		err = linkTo(self, name)
	}
	if err != nil {
		return exit.FileError{Err: fmt.Errorf("--install-aria2c: %w", err)}
	}
	_, err = fmt.Fprintf(stdio.Out, "%s is mlget: put its directory before aria2c's in PATH\n", name)
	return err
}

// linkTo makes a link to the program's file: a symbolic one, but on Windows, where that takes
// an administrator, a hard one unless it would lead to another volume.
func linkTo(program, name string) error {
	own, err := os.Stat(program)
	if err != nil {
		return err
	}
	there, err := os.Lstat(name)
	switch {
	case err != nil: // making the link says why, if it is another reason than that nothing is there
	case os.SameFile(own, there):
		return nil // Windows removes no name of a program that runs
	case there.Mode()&fs.ModeSymlink != 0:
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	if runtime.GOOS == "windows" {
		if err := os.Link(program, name); err == nil || errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return os.Symlink(program, name)
}
