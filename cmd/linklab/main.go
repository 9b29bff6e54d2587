// Linklab runs a command with emulated network links.
package main

import (
	"os"

	"github.com/mlget/mlget/internal/linklab"
)

func main() {
	os.Exit(linklab.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
