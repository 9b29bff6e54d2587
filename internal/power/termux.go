package power

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

const (
	// termuxPatience is how long Termux:API may take for an answer. Where the app
	// is missing, it never comes.
	termuxPatience = 4 * time.Second
	// termuxInterval is the shortest interval between questions: each starts
	// programs, and would itself be what is measured.
	termuxInterval = 5 * time.Second
)

// Reasons why Termux gives nothing.
var (
	errNotTermux  = errors.New("not within Termux")
	errTermuxSays = errors.New("the answer has no current and voltage")
)

// termux is the battery as Android reports it to the app Termux:API, for processes that may not
// read sysfs.
type termux struct {
	command []string // the words that start termux-battery-status
	unit    Unit
}

func openTermux(ctx context.Context, _ folder, cfg Config) (source, error) {
	program, err := termuxProgram(cfg.Prefix)
	if err != nil {
		return nil, err
	}
	t := &termux{command: cfg.Launch.Command(program), unit: cfg.Unit}
	if _, err := t.read(ctx, 0, nil); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *termux) describe() description {
	return description{name: Termux, detail: "termux-battery-status", least: termuxInterval, slow: true}
}

func (t *termux) read(ctx context.Context, now time.Duration, out []sample) ([]sample, error) {
	ctx, cancel := context.WithTimeout(ctx, termuxPatience)
	defer cancel()
	text, err := runBounded(ctx, t.command)
	if err != nil {
		return out, fmt.Errorf("termux-battery-status: %w", err)
	}
	s, err := parseTermux(text, t.unit)
	if err != nil {
		return out, fmt.Errorf("termux-battery-status: %w", err)
	}
	s.at = now
	return append(out, s), nil
}

func (t *termux) flush(out []sample) []sample { return out }
func (t *termux) renew()                      {}
func (t *termux) close()                      {}

// parseTermux reads an answer of termux-battery-status: voltage in mV, current in µA. Phones
// that report mA are passed on as they are, except small numbers, below 1000, which Termux:API
// multiplies by 1000; so each number is judged by itself, even if the phone is known to report
// mA.
func parseTermux(text []byte, unit Unit) (sample, error) {
	var answer struct {
		Status  string   `json:"status"`
		Plugged string   `json:"plugged"`
		Current *float64 `json:"current"`
		Voltage *float64 `json:"voltage"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return sample{}, fmt.Errorf("not understood: %w", err)
	}
	if answer.Current == nil || answer.Voltage == nil {
		return sample{}, errTermuxSays
	}
	current, told := math.Abs(*answer.Current), *answer.Voltage
	if current > maxCurrent || !(told >= 0 && told <= maxVolts*1e6) {
		return sample{}, errImplausible
	}
	var s sample
	switch parseStatus(strings.ReplaceAll(answer.Status, "_", " ")) {
	case fed:
		s.external = true
	case unknown:
		s.external = answer.Plugged != "" && answer.Plugged != "UNPLUGGED"
	case discharging:
	}
	voltage := volts(int64(told))
	switch {
	case voltage == 0:
		return sample{}, errVoltage
	case current == 0 && !s.external: // a full battery may well tell 0
		return sample{}, errNothing
	}
	amps := 1e-6
	if unit != MicroAmps && current < leastMicro {
		amps = 1e-3
	}
	s.watts = current * voltage * amps
	return s, nil
}
