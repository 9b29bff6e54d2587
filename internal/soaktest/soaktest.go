// Package soaktest says how much a test does that could go on for ever: a few cases with
// go test -short, more in `make test`, all of them in `make soak`.
package soaktest

import (
	"os"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/race"
)

// Var is the environment variable that `make soak` sets, to the time that each test of
// long runs may take.
const Var = "MLGET_SOAK"

// All says whether tests are to do all of their cases.
func All() bool { return os.Getenv(Var) != "" }

// Cases chooses how many cases a test does. Under the race detector, which makes what
// only computes ten times as slow, there are as few as with -short.
func Cases(short, ordinary, all int) int {
	switch {
	case All():
		return all
	case testing.Short() || race.Enabled:
		return short
	}
	return ordinary
}

// Golden is the name of the file that holds what comes out: that of all cases, or that
// of as many as an ordinary run does. A short run has none, and gets "".
func Golden(ordinary, all string) string {
	switch {
	case All():
		return all
	case testing.Short() || race.Enabled:
		return ""
	}
	return ordinary
}

// Time is how long a test of long runs may take. Where there is no time, it skips.
func Time(t testing.TB) time.Duration {
	t.Helper()
	text := os.Getenv(Var)
	if text == "" {
		t.Skipf("%s is not set: it takes minutes", Var)
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		t.Fatalf("%s: %q is no time", Var, text)
	}
	return d
}
