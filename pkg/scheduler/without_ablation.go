//go:build ablation

package scheduler

import (
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

//nolint:gochecknoglobals // of test builds only: a run's switches are those of its process
var (
	off  atomic.Pointer[[]string]
	hits sync.Map // of each name, how often it was asked about: *atomic.Int64
	once sync.Once
)

// Without switches heuristics off by their names, and all others on.
func Without(names ...string) {
	off.Store(&names)
	hits.Clear()
}

// Hits is how often each heuristic has come to its decision since the latest Without.
func Hits() map[string]int64 {
	all := map[string]int64{}
	hits.Range(func(name, n any) bool {
		all[name.(string)] = n.(*atomic.Int64).Load()
		return true
	})
	return all
}

// without says whether a heuristic is switched off, by Without or, for whole programs in a
// laboratory, by the environment variable MLGET_WITHOUT.
func without(name string) bool {
	once.Do(func() {
		if off.Load() == nil {
			Without(strings.Fields(os.Getenv("MLGET_WITHOUT"))...)
		}
	})
	n, ok := hits.Load(name)
	if !ok {
		n, _ = hits.LoadOrStore(name, new(atomic.Int64))
	}
	n.(*atomic.Int64).Add(1)
	return slices.Contains(*off.Load(), name)
}
