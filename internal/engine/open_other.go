//go:build !unix

package engine

// openMost is how many files a batch may hold open at once.
func openMost() int { return maxOpen }
