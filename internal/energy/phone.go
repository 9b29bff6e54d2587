package energy

// Phone is a whole device's power besides its radios, each taken by itself.
type Phone struct {
	Name, Source string
	BaseWatts    float64 // idle, radios asleep
	// Together is the energy, in mJ, beyond the radios' models, for each Mbit that the slower
	// of two links carries while the other works too.
	Together float64
}

// GalaxyS7 is the thesis's phone, for models of its mean power (wifi-s7-mean and
// lte-s7-mean).
//
// Together is fitted to the thesis's 15 downloads of 250 MB with Algorithms 1, 2
// and 3 (times and rates of table 5.12, energy of table 7.10): what they took beyond
// those models and 0.7 W, against the Mbit of the slower link, by least squares
// through the origin. It is 13.9 mJ per Mbit, with a standard error of 1.3; 2.7 J of
// each download remain unexplained (RMS), of 0.4 to 14.7 J. A constant power while
// both work explains much less (5.2 J remain), a term for the sum of both rates
// less, too (3.9 J), and with one of them beside it Together hardly changes. Fitted
// without a scenario, it is 11.8 to 16.1, and still puts that scenario's two links
// above its single one (TestTogether). The thesis does not say what draws it.
func GalaxyS7() Phone {
	return Phone{
		Name: "Galaxy S7", Source: "Skjolden 2019, 7.1; tables 5.12 and 7.10",
		BaseWatts: 0.7, Together: 13.9,
	}
}

// TogetherJoules is a download's energy beyond its radios' models when two links carry so many
// bytes at the same time.
func (p *Phone) TogetherJoules(a, b int64) float64 {
	return 1e-3 * mbitPerByte * p.Together * float64(min(a, b))
}
