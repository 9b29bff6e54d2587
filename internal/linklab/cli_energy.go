package linklab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlget/mlget/internal/linklab/battery"
	"github.com/mlget/mlget/internal/linklab/scenario"
)

// energyOptions say what becomes of the energy that a command has cost.
type energyOptions struct {
	file string        // empty: none
	tail time.Duration // for how long after the end it is accounted for, or UntilIdle
}

// add adds the flags of these and of the battery.
func (o *energyOptions) add(cmd *cobra.Command, c *Config) {
	f := cmd.Flags()
	f.StringVar(&o.file, "energy", "", "write the radios' energy to `FILE` as JSON")
	f.DurationVar(&o.tail, "tail", 0, "count the radios' energy until so long after COMMAND's end\n(default: until they are idle; computed, not waited for)")
	f.Float64Var(&c.Battery.BaseWatts, "base-power", battery.DefaultBaseWatts, "power of the phone besides its radios, in `W`")
	f.DurationVar(&c.Battery.Every, "gauge", battery.DefaultEvery, "time between two updates of the battery's files")
	f.Float64Var(&c.Battery.NoisePercent, "gauge-noise", 0, "standard deviation of the gauge's error, in `PERCENT` of the current")
}

// check refuses what makes no sense with the scenario, and completes the rest.
func (o *energyOptions) check(tailGiven bool, s scenario.Scenario) error {
	switch {
	case !tailGiven:
		o.tail = UntilIdle
	case o.tail < 0 || o.tail > time.Hour:
		return fmt.Errorf("--tail %v: must be within 0..1h", o.tail)
	}
	if o.file != "" && !slices.ContainsFunc(s.Links, func(l scenario.Link) bool { return l.Power != "" }) {
		return &HintError{Err: errors.New("--energy: no link has a power model"), Hint: "say power=wifi-s7-mean or the like with a link"}
	}
	if err := CheckOut(o.file); err != nil {
		return fmt.Errorf("--energy: %w", err)
	}
	return nil
}

// tell prints the energy, and writes it to the file; nil: there is none.
func (o *energyOptions) tell(e *Energy, to io.Writer) error {
	if e == nil {
		return nil
	}
	if _, err := io.WriteString(to, e.Text()); err != nil {
		return err
	}
	if o.file == "" {
		return nil
	}
	text, err := json.MarshalIndent(e, "", "  ")
	if err == nil {
		err = os.WriteFile(o.file, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("energy: %w", err)
	}
	return nil
}
