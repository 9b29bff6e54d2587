package scheduler

import (
	"fmt"
	"slices"
)

// Recorded is one step of a run: an input, and the actions that it gave.
type Recorded struct {
	At      Time     `json:"at"`
	Input   Input    `json:"input"`
	Actions []Action `json:"actions,omitempty"`
}

// Replay gives a recorded run's inputs to a new Core of the same configuration,
// and says at which step the actions differ from those recorded, if any. It is
// the form in which a scheduler's misbehaviour is reported.
func Replay(cfg Config, steps []Recorded) error {
	c, err := New(cfg)
	if err != nil {
		return err
	}
	var got []Action
	for i, s := range steps {
		got = c.Step(s.At, s.Input, got[:0])
		if !slices.Equal(got, s.Actions) {
			return fmt.Errorf("step %d, %+v at %v s: got %+v, recorded %+v", i, s.Input, s.At.Seconds(), got, s.Actions)
		}
	}
	return nil
}
