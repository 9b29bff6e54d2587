//go:build !ablation

package scheduler

// without says whether a heuristic is switched off. None is: the build tag ablation, with
// which tests measure what each of them is worth (docs/scheduler.md), has another version.
func without(string) bool { return false }
