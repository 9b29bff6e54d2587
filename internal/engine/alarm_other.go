//go:build !linux

package engine

import (
	"errors"
	"time"
)

// alarm is Linux's: elsewhere there is none.
type alarm struct{}

func newAlarm(chan<- struct{}) (*alarm, error) { return nil, errors.ErrUnsupported }

func (*alarm) set(time.Duration) {}

func (*alarm) close() {}
