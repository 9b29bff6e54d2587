package energy

import "time"

// hold is how long a radio is assumed to stay active after a byte [D]. It bridges the gaps
// between packets, and between the rounds of a slow start, so that the energy does not depend
// on how finely the traffic is sampled. For LTE it is the inactivity timer before discontinuous
// reception that Huang et al. measured (table 2); the other radios take the same, as their
// Active and Tail differ little.
const hold = 100 * time.Millisecond

// huang is the source of the 2012 models.
const huang = "Huang et al., MobiSys'12, tables 3 and 4 (HTC phone, screen off); uplink and idle unchecked"

// narayanan is the source of the 2021 models.
const narayanan = "refit of Narayanan et al., SIGCOMM'21, data; times of tails after its scripts; their powers, and 5G's promotions, unchecked"

// thesisPeaks and thesisMeans are the sources of the Galaxy S7's models.
const (
	thesisPeaks = "Skjolden 2019, single-link peaks of tables 7.3, 7.1b and 7.4a, less 0.7 W of idle device (7.1)"
	thesisMeans = "Skjolden 2019, single-link Main integrals of table 7.10 over time, less 0.7 W of idle device (7.1)"
)

// Lookup returns the radio model of that name.
func Lookup(name string) (Radio, bool) {
	for _, r := range models() {
		if r.Name == name {
			return r, true
		}
	}
	return Radio{}, false
}

// Names lists the models there are, in the order of the documentation.
func Names() []string {
	all := models()
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names
}

// models returns the built-in models.
//
// Idle is a duty cycle: the radio's power when it wakes to listen, times the share of time that
// it does so [Huang, table 3: LTE 594.3 mW for 43.2 of 1280.2 ms, 3G 374.2 for 55.4 of 5112.4,
// WiFi 77.2 for 7.6 of 308.2]. The other sources took it out together with the device's base
// power: 0.
//
// From memory, and not checked, since neither paper was at hand: Huang's uplink slopes and idle
// powers; the powers of the 2021 models' tails and the promotions of nr and nr-mmwave. The
// times of these tails, without their tenths, are those of the authors' published scripts
// [SIGCOMM21-5G on GitHub, RRC-Probe/plot-section4-figure10.py: RRC_CONNECTED ends at 10.2 s].
// The rest of both is as ALGORITHMS, Energy, quotes it. docs/energy-models.md has it figure by
// figure.
func models() []Radio {
	return []Radio{
		{
			Name: "wifi", Source: huang,
			Down: 137.01, Up: 283.17, Active: 132.86, Idle: 1.9,
			Promotion: 124.4, PromotionTime: 79100 * time.Microsecond,
			Tail: 119.3, TailTime: 238100 * time.Microsecond, Hold: hold,
		},
		{
			Name: "lte", Source: huang,
			Down: 51.97, Up: 438.39, Active: 1288.04, Idle: 20.05,
			Promotion: 1210.7, PromotionTime: 260100 * time.Microsecond,
			Tail: 1060, TailTime: 11576 * time.Millisecond, Hold: hold,
		},
		{
			// The dedicated channel's tail alone; what follows on the shared one
			// (601.3 mW for 0.824 s) is left out.
			Name: "3g", Source: huang,
			Down: 122.12, Up: 868.98, Active: 817.88, Idle: 4.06,
			Promotion: 659.4, PromotionTime: 582100 * time.Microsecond,
			Tail: 803.9, TailTime: 8088 * time.Millisecond, Hold: hold,
		},
		{
			// The slopes of the 2021 models were fitted to downloads as a whole:
			// what their acknowledgements cost is in Down. Promotion is Huang's
			// time at the power of a transfer [D].
			Name: "lte-2021", Source: narayanan,
			Down: 14.55, Active: 400,
			Promotion: 400, PromotionTime: 260100 * time.Microsecond,
			Tail: 178, TailTime: 10200 * time.Millisecond, Hold: hold,
		},
		{
			// 5G in a low band, non-standalone; promotion is the switch from 4G.
			Name: "nr", Source: narayanan,
			Down: 13.52, Active: 570,
			Promotion: 699, PromotionTime: 1440 * time.Millisecond,
			Tail: 260, TailTime: 10400 * time.Millisecond, Hold: hold,
		},
		{
			// 5G in a millimetre band, non-standalone; promotion is the switch from 4G.
			Name: "nr-mmwave", Source: narayanan,
			Down: 1.81, Active: 2780,
			Promotion: 1494, PromotionTime: 1907 * time.Millisecond,
			Tail: 1092, TailTime: 10500 * time.Millisecond, Hold: hold,
		},
		{
			// 3.0 W at 7.5 and 3.3 W at 79 Mbit/s: a line through 2.3 and 2.6 W. These
			// are the peaks of a device that is busy downloading; for joules see
			// wifi-s7-mean. The thesis saw too little of WiFi's promotion and tail to
			// tell: they are Huang's times, and their power in Huang's proportion to
			// Active [D].
			Name: "wifi-s7", Source: thesisPeaks,
			Down: 300 / 71.5, Active: 2300 - 7.5*300/71.5,
			Promotion: 2124, PromotionTime: 79100 * time.Microsecond,
			Tail: 2037, TailTime: 238100 * time.Microsecond, Hold: hold,
		},
		{
			// 3.15 W at 61 and 3.74 W at 80 Mbit/s: a line through 2.45 and 3.04 W.
			// The tail spreads the 2.43 J of table 7.1b over Huang's time; the
			// promotion is Huang's, in proportion [D].
			Name: "lte-s7", Source: thesisPeaks,
			Down: 590.0 / 19, Active: 2450 - 61*590.0/19,
			Promotion: 522, PromotionTime: 260100 * time.Microsecond,
			Tail: 210, TailTime: 11576 * time.Millisecond, Hold: hold,
		},
		{
			// Least squares over the five WiFi downloads of 250 MB with the S7, from
			// 7.5 to 79 Mbit/s: 0.57 to 1.21 W.
			Name: "wifi-s7-mean", Source: thesisMeans,
			Down: 9.08, Active: 532.8,
			Promotion: 499, PromotionTime: 79100 * time.Microsecond,
			Tail: 478, TailTime: 238100 * time.Microsecond, Hold: hold,
		},
		{
			// The four LTE downloads of 250 MB with the S7 drew 1.31 W on average at
			// 69.8 Mbit/s. They lie too near each other (61 to 80 Mbit/s) to give a
			// slope, so that is lte-2021's [D].
			Name: "lte-s7-mean", Source: thesisMeans,
			Down: 14.55, Active: 291,
			Promotion: 274, PromotionTime: 260100 * time.Microsecond,
			Tail: 210, TailTime: 11576 * time.Millisecond, Hold: hold,
		},
		{
			// A wired port draws the same whether bytes cross it or not, short of
			// energy-efficient Ethernet's fractions of a watt, and runs off no
			// battery: nothing is charged [D].
			Name: "ethernet", Source: "nothing is charged: a port draws the same with and without traffic",
		},
	}
}
