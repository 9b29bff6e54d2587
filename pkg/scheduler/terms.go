package scheduler

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// EnergyMode says whether what links cost in energy decides about their use.
// Modes are numbers in records: a new one goes at the end.
type EnergyMode uint8

// The modes.
const (
	// EnergyOff: no.
	EnergyOff EnergyMode = iota
	// EnergyEMTCP: a costly link carries less than its share, by Config.Offload (chen).
	EnergyEMTCP
	// EnergyMin: the links that need the least energy for what is left, and with
	// a deadline the least that meets it.
	EnergyMin
)

// EnergyNames are the names that ParseEnergy takes.
func EnergyNames() []string { return []string{"off", "emtcp", "min-energy"} }

// ParseEnergy gives the mode of that name. "emtcp=SHARE" is EnergyEMTCP with a
// share to offload other than the default's, above 0 and at most 1: see
// Config.Offload, which is 0 otherwise.
func ParseEnergy(text string) (mode EnergyMode, offload float64, err error) {
	name, share, given := text, "", false
	if at := slices.Index([]byte(text), '='); at >= 0 {
		name, share, given = text[:at], text[at+1:], true
	}
	i := slices.Index(EnergyNames(), name)
	if i < 0 || given && EnergyMode(i) != EnergyEMTCP {
		return EnergyOff, 0, fmt.Errorf("unknown energy mode %q", text)
	}
	if given {
		if offload, err = strconv.ParseFloat(share, 64); err != nil || !(offload > 0 && offload <= 1) {
			return EnergyOff, 0, fmt.Errorf("the share %q of %s is not a number above 0, up to 1", share, name)
		}
	}
	return EnergyMode(i), offload, nil
}

// String is the mode's name.
func (m EnergyMode) String() string {
	if names := EnergyNames(); int(m) < len(names) {
		return names[m]
	}
	return "unknown"
}

// Radio is what a link costs in energy beyond what idling does. While bytes
// cross it, it draws ActiveMW + MWPerMbps * (Mbit/s of payload) milliwatts.
type Radio struct {
	ActiveMW    float64 `json:"active_mw,omitempty"`
	MWPerMbps   float64 `json:"mw_per_mbps,omitempty"`  // that is mJ per Mbit
	PromotionMJ float64 `json:"promotion_mj,omitempty"` // mJ for waking it
	TailMJ      float64 `json:"tail_mj,omitempty"`      // mJ from its last byte until it sleeps
	TailTime    Time    `json:"tail_time,omitempty"`    // how long that takes
	// PromotionTime is how long waking takes; while it lasts nothing else is drawn.
	PromotionTime Time `json:"promotion_time,omitempty"`
	// MWPerConnection is what a connection at work draws by itself. It counts in the choice
	// of connections (tuning), not in the choice of links.
	MWPerConnection float64 `json:"mw_per_connection,omitempty"`
}

// Terms are the terms on which a link may be used. A LinkUp tells them; one
// without (the zero value) leaves them as they are.
type Terms struct {
	// Cap is how many bytes of payload the link may receive, waste and what
	// others use it for included (see Spent); 0: no bound.
	Cap int64 `json:"cap,omitempty"`
	// Backup: it is used only while no other link serves, or where EnergyMin needs
	// it for a deadline.
	Backup bool `json:"backup,omitempty"`
	// Costly: EnergyEMTCP moves a part of its share to links that are not.
	Costly bool `json:"costly,omitempty"`
	// Usual is what links like this mostly carry, in bytes per second, used as
	// long as nothing better is known; 0: not known.
	Usual float64 `json:"usual,omitempty"`
	Radio Radio   `json:"radio,omitzero"`
}

// Validate says what is wrong with the terms.
func (t *Terms) Validate() error {
	for _, x := range [...]float64{
		t.Usual, t.Radio.ActiveMW, t.Radio.MWPerMbps, t.Radio.PromotionMJ, t.Radio.TailMJ, float64(t.Radio.TailTime), float64(t.Radio.PromotionTime),
		t.Radio.MWPerConnection,
	} {
		if math.IsNaN(x) || x < 0 || x > maxTerm {
			return fmt.Errorf("a link's terms: %v is not within 0 to %g", x, maxTerm)
		}
	}
	if t.Cap < 0 {
		return errors.New("a link's terms: its cap is negative")
	}
	return nil
}

// maxTerm bounds the numbers of Terms, so that no sum of them overflows.
const maxTerm = 1e15

// mbitPerByte converts bytes to Mbit.
const mbitPerByte = 8e-6

// perMbit is what a Mbit costs in mJ at a rate in bytes per second: α + β/r
// (ALGORITHMS, min-energy).
func (r *Radio) perMbit(rate float64) float64 {
	if r.ActiveMW == 0 {
		return r.MWPerMbps
	}
	if rate <= 0 {
		return forever
	}
	return r.MWPerMbps + r.ActiveMW/(rate*mbitPerByte)
}

// wakeEnergy is what it costs in mJ to use the radio when its last byte came so long
// ago; Never: none did. What is left of a tail that is running would be spent
// anyway.
func (r *Radio) wakeEnergy(quiet Time) float64 {
	if quiet >= r.TailTime {
		return r.PromotionMJ + r.TailMJ
	}
	return r.TailMJ * (float64(quiet) / float64(r.TailTime))
}
