// Package release holds what the packages that `make dist` makes are made by, and
// says whether a program is fit for Termux's.
//
// Contract: pure functions; nothing is shared.
package release

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrPackage says that no package can be made of what was given.
var ErrPackage = errors.New("no package can be made")

// loader is what starts programs on 64-bit Android.
const loader = "/system/bin/linker64"

// CheckBinary says whether a program is what runs on Android, for Termux's name
// of a processor: position-independent, with Android's loader and without
// libraries for aarch64; static for arm. Errors wrap ErrPackage.
func CheckBinary(r io.ReaderAt, arch string) error {
	f, err := elf.NewFile(r)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPackage, err)
	}
	defer f.Close() //nolint:errcheck // nothing was opened
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPackage, err)
	}
	started, err := interpreter(f)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPackage, err)
	}
	machine, kind, by := elf.EM_AARCH64, elf.ET_DYN, loader
	switch arch {
	case "aarch64":
	case "arm":
		machine, kind, by = elf.EM_ARM, elf.ET_EXEC, ""
	default:
		return fmt.Errorf("%w: no processor is called %q", ErrPackage, arch)
	}
	switch {
	case f.Machine != machine:
		return fmt.Errorf("%w: the program is for %v, not for %s", ErrPackage, f.Machine, arch)
	case f.Type != kind:
		return fmt.Errorf("%w: the program is a %v, want a %v", ErrPackage, f.Type, kind)
	case started != by:
		return fmt.Errorf("%w: the program is started by %q, want %q", ErrPackage, started, by)
	case len(libraries) > 0:
		return fmt.Errorf("%w: the program needs %s", ErrPackage, strings.Join(libraries, ", "))
	}
	return nil
}

// interpreter is the program that starts a program; "" is none.
func interpreter(f *elf.File) (string, error) {
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		b := make([]byte, min(p.Filesz, 4096))
		if _, err := io.ReadFull(p.Open(), b); err != nil {
			return "", err
		}
		return strings.TrimRight(string(b), "\x00"), nil
	}
	return "", nil
}
