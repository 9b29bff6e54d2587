// Linklab runs commands with emulated network links, and makes the project's measurements.
package main

import (
	"os"

	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/linklab/bench"
	"github.com/mlget/mlget/internal/linklab/faults"
	"github.com/mlget/mlget/internal/papers"
)

func main() {
	args := os.Args[1:]
	os.Exit(linklab.Main(args, os.Stdin, os.Stdout, os.Stderr, bench.Command(args), faults.Command(args), papers.Command()))
}
