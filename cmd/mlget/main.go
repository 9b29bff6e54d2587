// Command mlget downloads over several network links at once.
package main

import (
	"os"

	"github.com/mlget/mlget/internal/cli"
	"github.com/mlget/mlget/internal/launch"
)

func main() {
	called := launch.Of(os.Args)
	os.Exit(cli.MainAs(called.Name, called.Args, cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
