package linklab

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/linklab/emu"
	"github.com/mlget/mlget/internal/linklab/scenario"
)

// energyModel describes the radios of the links as a file of mlget's, so that both
// reckon by the same ones (docs/energy-models.md).
func energyModel(links []scenario.Link) ([]byte, error) {
	type radio struct {
		Like    string  `json:"like"`
		PerConn float64 `json:"per_connection_mw,omitempty"`
	}
	radios := make(map[string]radio, len(links))
	for _, l := range links {
		if l.Power != "" {
			radios[l.Name] = radio{l.Power, l.PerConnection}
		}
	}
	text, err := json.MarshalIndent(map[string]any{"device": "linklab", "radios": radios}, "", "  ")
	return append(text, '\n'), err
}

// UntilIdle asks for the energy until every radio is idle again, however long
// that takes. It is computed, not waited for.
const UntilIdle time.Duration = -1

// Energy is what the radios of a lab have spent on a command, by their models:
// exactly, given the packets that crossed. It is also the form of its file.
type Energy struct {
	Schema      int          `json:"schema"`
	Modelled    bool         `json:"modelled"`     // always: no radio was there to be measured
	Seconds     float64      `json:"seconds"`      // from the command's start to its end
	TailSeconds float64      `json:"tail_seconds"` // from there to where the accounts are closed
	BaseWatts   float64      `json:"base_watts"`   // of the rest of the phone
	Links       []LinkEnergy `json:"links"`
	Total       Joules       `json:"total"` // of all radios
	// DeviceJoules is the radios' energy and that of the rest of the phone, over
	// both times.
	DeviceJoules float64 `json:"device_joules"`
}

// energySchema is the version of the file's format.
const energySchema = 1

// LinkEnergy is what the radio of one link has spent.
type LinkEnergy struct {
	Name      string `json:"name"`
	Model     string `json:"model"`
	DownBytes int64  `json:"down_bytes"` // of IP packets delivered to the client
	UpBytes   int64  `json:"up_bytes"`   // of IP packets delivered to the server
	Joules
}

// Joules is energy by what a radio was doing, in J.
type Joules struct {
	Idle      float64 `json:"idle_joules"`
	Promotion float64 `json:"promotion_joules"`
	Transfer  float64 `json:"transfer_joules"`
	Tail      float64 `json:"tail_joules"`
	// Dynamic is what all these are above idling all the time, and After is what
	// of it came after the command's end.
	Dynamic float64 `json:"dynamic_joules"`
	After   float64 `json:"after_joules"`
}

// Total is the energy of all states.
func (j Joules) Total() float64 { return j.Idle + j.Promotion + j.Transfer + j.Tail }

func (j *Joules) add(k Joules) {
	j.Idle += k.Idle
	j.Promotion += k.Promotion
	j.Transfer += k.Transfer
	j.Tail += k.Tail
	j.Dynamic += k.Dynamic
	j.After += k.After
}

// snapshot is the state of all radios at one time since the emulator's start.
type snapshot struct {
	at     time.Duration
	radios []emu.Radio
	stats  []emu.LinkStats
}

// newEnergy closes the accounts: begin is from before the command, end from its
// end, last from when nothing was under way any more.
func newEnergy(begin, end, last snapshot, tail time.Duration, baseWatts float64) Energy {
	until := max(last.at, end.at+tail)
	if tail == UntilIdle {
		until = last.at
		for i := range last.radios {
			until = max(until, time.Duration(last.radios[i].Machine.IdleAt()))
		}
	}
	e := Energy{
		Schema: energySchema, Modelled: true, BaseWatts: baseWatts,
		Seconds: (end.at - begin.at).Seconds(), TailSeconds: (until - end.at).Seconds(),
	}
	for i := range last.radios {
		m := last.radios[i].Machine
		m.Step(int64(until), 0, 0, 0)
		spent := m.Energy().Sub(begin.radios[i].Machine.Energy())
		k := LinkEnergy{Name: last.radios[i].Link, Model: last.radios[i].Model, Joules: joulesOf(spent)}
		k.After = m.Energy().Dynamic - end.radios[i].Machine.Energy().Dynamic
		before, after := statsOf(begin.stats, k.Name), statsOf(last.stats, k.Name)
		k.DownBytes, k.UpBytes = after.Down.Bytes-before.Down.Bytes, after.Up.Bytes-before.Up.Bytes
		e.Links = append(e.Links, k)
		e.Total.add(k.Joules)
	}
	e.DeviceJoules = e.Total.Total() + baseWatts*(until-begin.at).Seconds()
	return e
}

func joulesOf(e energy.Energy) Joules {
	return Joules{Idle: e.Idle, Promotion: e.Promotion, Transfer: e.Transfer, Tail: e.Tail, Dynamic: e.Dynamic}
}

// statsOf are those of one link; none if it has none.
func statsOf(all []emu.LinkStats, name string) emu.LinkStats {
	for _, s := range all {
		if s.Name == name {
			return s
		}
	}
	return emu.LinkStats{}
}

// Text is the energy for people: a line for each link and one for all of them.
func (e Energy) Text() string {
	var b strings.Builder
	for _, l := range e.Links {
		fmt.Fprintf(&b, "linklab: %s (%s): %s\n", l.Name, l.Model, l.text())
	}
	fmt.Fprintf(&b, "linklab: radios, modelled: %s; %.2f J after the end\n", e.Total.text(), e.Total.After)
	fmt.Fprintf(&b, "linklab: phone: %.2f J in %.2f s and %.2f s after that, %g W of it for the rest of the phone\n",
		e.DeviceJoules, e.Seconds, e.TailSeconds, e.BaseWatts)
	return b.String()
}

func (j Joules) text() string {
	return fmt.Sprintf("%.2f J above idle (promotion %.2f, transfer %.2f, tail %.2f; idle %.2f)",
		j.Dynamic, j.Promotion, j.Transfer, j.Tail, j.Idle)
}
