//go:build !windows

package progress

import "os"

// obeys says whether the terminal obeys escape sequences, as all do but dumb ones.
func obeys(*os.File) bool { return os.Getenv("TERM") != "dumb" }
