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

// installAria2c makes a link in a directory by which this program is aria2c. Only a link that
// is there already is replaced.
func installAria2c(dir string, stdio console.IO) error {
	self := launch.Of(os.Args).Path
	if self == "" {
		return exit.FileError{Err: errors.New("--install-aria2c: cannot tell where this program's own file is")}
	}
	name := filepath.Join(dir, aria2cName())
	err := os.MkdirAll(dir, 0o777)
	if err == nil {
		if info, there := os.Lstat(name); there == nil && info.Mode()&fs.ModeSymlink != 0 {
			err = os.Remove(name)
		}
	}
	if err == nil {
		if err = os.Symlink(self, name); err != nil && runtime.GOOS == "windows" { // links are for administrators there
			err = os.Link(self, name)
		}
	}
	if err != nil {
		return exit.FileError{Err: fmt.Errorf("--install-aria2c: %w", err)}
	}
	_, err = fmt.Fprintf(stdio.Out, "%s is mlget: put its directory before aria2c's in PATH\n", name)
	return err
}
