// Command mlget downloads over several network links at once.
package main

import (
	"os"

	"github.com/mlget/mlget/internal/cli"
	"github.com/mlget/mlget/internal/launch"
)

func main() {
	os.Exit(cli.Main(launch.Of(os.Args).Args, cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
