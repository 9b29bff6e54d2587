package faults

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// Config is how cells are run.
type Config struct {
	Mlget string // the program's file
	Seed  uint64 // of everything that is random
	Jobs  int    // cells at once
	Keep  string // directory for what failed cells leave; empty: nothing is kept
}

// Session runs cells.
type Session struct {
	Config Config
	Log    io.Writer // a line for each cell that fails, and now and then
}

// logEvery is after how many cells there is a line.
const logEvery = 50

// Run runs the cells, and returns what came of them in their order. An error is
// that of a laboratory, or the end of ctx; a cell that fails is none. What was
// done until then is returned in any case.
func (s *Session) Run(ctx context.Context, cells []Cell) ([]Outcome, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	outs := make([]Outcome, len(cells))
	ran := make([]bool, len(cells))
	next := make(chan int)
	var (
		mu           sync.Mutex
		done, failed int
		wg           sync.WaitGroup
	)
	for range max(1, s.Config.Jobs) {
		wg.Go(func() {
			for i := range next {
				out, err := runCell(ctx, s.Config, cells[i])
				if err != nil {
					stop(fmt.Errorf("cell %s: %w", cells[i], err))
					continue
				}
				mu.Lock()
				outs[i], ran[i] = out, true
				done++
				if !out.Passed {
					failed++
					_, _ = fmt.Fprintf(s.Log, "FAILED %s: %s\n", out.Cell, out.Why) // only for people
				}
				if done%logEvery == 0 {
					_, _ = fmt.Fprintf(s.Log, "%d of %d cells, %d failed\n", done, len(cells), failed)
				}
				mu.Unlock()
			}
		})
	}
feed:
	for i := range cells {
		select {
		case next <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	wg.Wait()
	var some []Outcome
	for i, out := range outs {
		if ran[i] {
			some = append(some, out)
		}
	}
	return some, context.Cause(ctx)
}
