// Package sweep runs downloads of the same files with every combination of
// concurrency, parallelism and block size, in random order, and makes the tables
// of Guner and Kosar ("Energy-Performance Trade-offs in Mobile Data Transfers")
// of what came out: throughput, joules per 100 MB, and power.
//
// Contract: plans, statistics and tables are pure functions of their arguments;
// a Session and its Journal belong to one goroutine, which Run blocks until the
// last download or until its context ends.
package sweep

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// Setting is one combination of parameters.
type Setting struct {
	Concurrency int   `json:"concurrency"` // files at once
	Parallelism int   `json:"parallelism"` // connections of a link per file
	Block       int64 `json:"block_bytes"` // of one I/O request
}

// Grid is what is combined, each in the order in which tables show it.
type Grid struct {
	Concurrency []int   `json:"concurrency"`
	Parallelism []int   `json:"parallelism"`
	Block       []int64 `json:"block_bytes"`
}

// Full is the papers' grid: 1 to 64 files at once, 1 to 32 connections each,
// blocks of 1 to 64 KiB.
func Full() Grid {
	return Grid{
		Concurrency: []int{1, 2, 4, 8, 16, 32, 64},
		Parallelism: []int{1, 2, 4, 8, 16, 32},
		Block:       []int64{1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10},
	}
}

// ErrGrid says that a grid cannot be run.
var ErrGrid = errors.New("not a possible sweep")

// Check refuses what is empty, stands there twice, or is not above 0.
func (g Grid) Check() error {
	if err := checkAxis("concurrency", g.Concurrency); err != nil {
		return err
	}
	if err := checkAxis("parallelism", g.Parallelism); err != nil {
		return err
	}
	return checkAxis("block size", g.Block)
}

func checkAxis[T int | int64](name string, values []T) error {
	if len(values) == 0 {
		return fmt.Errorf("%w: no %s", ErrGrid, name)
	}
	for i, v := range values {
		if v < 1 {
			return fmt.Errorf("%w: %s %d", ErrGrid, name, v)
		}
		if slices.Contains(values[:i], v) {
			return fmt.Errorf("%w: %s %d twice", ErrGrid, name, v)
		}
	}
	return nil
}

// Settings are all combinations, block size varying fastest.
func (g Grid) Settings() []Setting {
	var all []Setting
	for _, c := range g.Concurrency {
		for _, p := range g.Parallelism {
			for _, b := range g.Block {
				all = append(all, Setting{c, p, b})
			}
		}
	}
	return all
}

// Trial is one download. No two of a plan are equal.
type Trial struct {
	Setting
	Round int `json:"round"` // from 0
}

// Plan puts all trials into their order, which the seed alone decides: round by
// round, in each every setting once, in random order.
func Plan(g Grid, rounds int, seed uint64) []Trial {
	rng := rand.New(rand.NewPCG(seed, 0x73776565))
	var trials []Trial
	for round := range rounds {
		settings := g.Settings()
		rng.Shuffle(len(settings), func(i, j int) { settings[i], settings[j] = settings[j], settings[i] })
		for _, s := range settings {
			trials = append(trials, Trial{s, round})
		}
	}
	return trials
}
