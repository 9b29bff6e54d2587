//go:build !linux

package timerfd

import (
	"errors"
	"time"
)

// Timer is Linux's: elsewhere there is none.
type Timer struct{}

// New fails.
func New(chan<- struct{}) (*Timer, error) { return nil, errors.ErrUnsupported }

// Set does nothing.
func (*Timer) Set(time.Duration) {}

// Close does nothing.
func (*Timer) Close() {}
