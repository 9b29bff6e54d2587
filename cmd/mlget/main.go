// Command mlget downloads over several network links at once.
package main

import (
	"os"

	"github.com/mlget/mlget/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
