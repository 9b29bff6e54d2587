// Command mlget downloads over several network links at once.
package main

import (
	"os"
	"runtime/debug"

	"github.com/mlget/mlget/internal/cli"
)

// garbagePercent is how much may be thrown away, in percent of what is in use, before
// it is collected. Half of Go's usual 100: while payload comes nothing is allocated, so
// that it costs no time that could be measured, and connections that begin by dozens
// leave less behind.
const garbagePercent = 50

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	os.Exit(cli.Main(os.Args[1:], cli.IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
