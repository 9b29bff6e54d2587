package link

import (
	"context"
	"errors"
	"time"
)

// attempt is the result of one of several competing attempts.
type attempt[T any] struct {
	value T
	err   error
}

// race makes n attempts, each started when the one before has failed or delay
// after it, and gives the first that succeeds, or whose error is an answer by
// itself (final). The others are cancelled, and what they still bring is given
// to discard. It returns after all of them have ended, so an attempt must end
// soon after its context. When none succeeds, the error is the first one's.
func race[T any](ctx context.Context, n int, delay time.Duration,
	try func(context.Context, int) (T, error), final func(error) bool, discard func(T),
) (T, error) {
	var none T
	if n == 0 {
		return none, errors.New("nothing to try")
	}
	if n == 1 {
		return try(ctx, 0)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan attempt[T])
	timer := time.NewTimer(0)
	defer timer.Stop()
	var (
		started, running int
		first            error
		winner           *attempt[T]
	)
	for running > 0 || started < n && winner == nil && (started == 0 || ctx.Err() == nil) {
		next := timer.C
		if started == n || winner != nil || started > 0 && ctx.Err() != nil {
			next = nil
		}
		select {
		case <-next:
			i := started
			started++
			running++
			timer.Reset(delay)
			go func() {
				value, err := try(ctx, i)
				results <- attempt[T]{value, err}
			}()
		case r := <-results:
			running--
			switch {
			case winner != nil:
				if r.err == nil {
					discard(r.value)
				}
			case r.err == nil || final(r.err):
				winner = &r
				cancel()
			default:
				if first == nil {
					first = r.err
				}
				timer.Reset(0)
			}
		}
	}
	if winner != nil {
		return winner.value, winner.err
	}
	return none, first
}
