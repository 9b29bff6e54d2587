// Command mkdeb makes a package for Termux of a program that was built.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"

	"github.com/mlget/mlget/internal/release"
)

func main() {
	var d release.Deb
	flag.StringVar(&d.Version, "version", "", "of the package")
	flag.StringVar(&d.Arch, "arch", "", "aarch64 or arm")
	binary := flag.String("binary", "", "mlget, as it was built")
	license := flag.String("license", "LICENSE", "its license")
	out := flag.String("o", "", "the package to write")
	flag.Parse()
	if err := run(d, *binary, *license, *out); err != nil {
		fmt.Fprintln(os.Stderr, "mkdeb:", err)
		os.Exit(1)
	}
}

func run(d release.Deb, binary, license, out string) (err error) {
	if d.Binary, err = os.ReadFile(binary); err != nil {
		return err
	}
	if d.License, err = os.ReadFile(license); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := d.Write(&b); err != nil {
		return fmt.Errorf("%s: %w", binary, err)
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}
