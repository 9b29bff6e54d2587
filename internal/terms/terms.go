// Package terms says on what terms the scheduler may use a link, by the model of
// the radio behind it: what it costs, whether it is the costly kind, and what
// links like it mostly carry.
//
// Contract: pure functions, to be called from any goroutine.
package terms

import (
	"strings"

	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	// goodput is what of a link's bytes is payload: 1448 of 1500, as everywhere
	// in this program (ALGORITHMS, Fluid bound: 0.965).
	goodput = 0.965
	// ackShare is what goes up for what comes down: an acknowledgement of 52
	// bytes for every other packet of 1500 (RFC 5681, 4.2).
	ackShare = 52.0 / 3000
	// perConnection is what a connection at work draws by itself, in mW, where the radio's
	// model is one of those that are built in, which have no term for it; see
	// tuning.PerConnection for its source.
	perConnection = 62
	// dear is from how many joules on it is costly to wake a radio of whose kind
	// nothing else is known.
	dear = 1.0
	// mbit is 10^6 bit in bytes.
	mbit = 1e6 / 8
)

// Of gives the terms of a link with a radio. Its name says the kind ("lte",
// "lte-2021", "wifi-home"), or that of the model that it is like; a radio without a
// name costs nothing.
func Of(radio energy.Radio) scheduler.Terms {
	return scheduler.Terms{
		Costly: costly(&radio),
		Usual:  usual(kind(&radio)),
		Radio: scheduler.Radio{
			ActiveMW:    radio.Active,
			MWPerMbps:   (radio.Down + float64(radio.Up*ackShare)) / goodput,
			PromotionMJ: float64((radio.Promotion - radio.Idle) * radio.PromotionTime.Seconds()),
			TailMJ:      tail(&radio),
			TailTime:    scheduler.Time(radio.TailTime),

			PromotionTime:   scheduler.Time(radio.PromotionTime),
			MWPerConnection: connection(&radio),
		},
	}
}

// connection is what a connection at work draws by itself, in mW: what a file of models
// says, and else what is usual of a radio that draws anything.
func connection(r *energy.Radio) float64 {
	if r.PerConn == 0 && r.Like == "" && r.Active > 0 {
		return perConnection
	}
	return r.PerConn
}

// tail is what the radio spends above idling from its last byte on, in mJ.
func tail(r *energy.Radio) float64 {
	hold := min(r.Hold, r.TailTime)
	return float64((r.Active-r.Idle)*hold.Seconds()) + float64((r.Tail-r.Idle)*(r.TailTime-hold).Seconds())
}

// costly says whether a radio is of the kind that eMTCP spares: cellular ones
// are, by their names; of others what it takes to wake them tells.
func costly(r *energy.Radio) bool {
	switch kind(r) {
	case "lte", "nr", "3g":
		return true
	case "wifi", "ethernet":
		return false
	}
	return r.FixedJoules() >= dear
}

// usual is what a link of that kind mostly carries, in bytes per second; 0 where
// the kind is not known. These are guesses, on the low side for those that are
// costly to try [D]: the thesis's averages were 42 Mbit/s over WiFi and 64 over
// LTE (skjolden, 7.4.4).
func usual(kind string) float64 {
	switch kind {
	case "wifi":
		return 40 * mbit
	case "lte":
		return 30 * mbit
	case "nr":
		return 100 * mbit
	case "3g":
		return 3 * mbit
	case "ethernet":
		return 100 * mbit
	}
	return 0
}

// kind is the kind of link that a radio serves, by the first part of its model's
// name. One that a file has under another name (a link's, say) is of the kind of
// the model that it is like.
func kind(r *energy.Radio) string {
	k, _, _ := strings.Cut(r.Name, "-")
	if _, known := energy.Lookup(k); known {
		return k
	}
	k, _, _ = strings.Cut(r.Like, "-")
	return k
}
