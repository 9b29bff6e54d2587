package energy

import "time"

// Radio is the power model of one radio: while bytes cross it, it draws
//
//	P = Down * (Mbit/s down) + Up * (Mbit/s up) + Active + PerConn * connections
//
// in mW [Huang et al., "A Close Examination of Performance and Power Characteristics of 4G LTE
// Networks", MobiSys'12, section 4.3, where Down, Up and Active are alpha_d, alpha_u and beta].
// PerConn is the term that Guner and Kosar's choice between few and many connections needs,
// since without it the ratio of throughput to power only ever grows with throughput.
//
// A Radio is the radio alone, without the rest of the device (its base power).
type Radio struct {
	Name   string // as in linklab's power= and mlget's tech=
	Source string // where the numbers come from
	Like   string // the built-in model from which a file made it; empty: it is built in

	Down    float64 // mW per Mbit/s received
	Up      float64 // mW per Mbit/s sent; 0 where the fit of Down includes what goes up with it
	Active  float64 // mW while bytes cross, whatever their rate
	PerConn float64 // mW per open connection while bytes cross
	Idle    float64 // mW averaged over time when nothing has crossed for long

	Promotion     float64       // mW while the radio goes from idle to active
	PromotionTime time.Duration // how long that takes
	Tail          float64       // mW after the last byte
	TailTime      time.Duration // from the last byte until the radio is idle again
	Hold          time.Duration // the first part of TailTime: the radio still draws Active, as more may come at once
}

// Milliwatts is the radio's power while downMbps and upMbps cross it over conns open
// connections.
func (r *Radio) Milliwatts(downMbps, upMbps float64, conns int) float64 {
	return r.Down*downMbps + r.Up*upMbps + r.Active + r.PerConn*float64(conns)
}

// FixedJoules is the energy of waking the radio, above idling, however few bytes cross it: its
// promotion and its tail. A [Machine] charges this for a single byte, besides that byte's own
// share of Down.
func (r *Radio) FixedJoules() float64 {
	hold := min(r.Hold, r.TailTime)
	return milliwattNanos * ((r.Promotion-r.Idle)*float64(r.PromotionTime) +
		(r.Active-r.Idle)*float64(hold) +
		(r.Tail-r.Idle)*float64(r.TailTime-hold))
}

// milliwattNanos is how many joules one mW makes in one ns.
const milliwattNanos = 1e-12

// mbitPerByte converts bytes to Mbit; with mW per Mbit/s, that is mJ per Mbit.
const mbitPerByte = 8e-6
