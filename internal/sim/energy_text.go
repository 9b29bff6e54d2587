package sim

import (
	"fmt"
	"io"
	"strings"
)

// energyIntro opens docs/energy.md.
const energyIntro = `# Energy policies, rehearsed

This page is made by ` + "`mlget simulate --energy-doc`" + ` and checked by a test of internal/sim. Every joule on it is *modelled*: the simulator drives a radio model ([energy-models.md](energy-models.md)) with the bytes that cross each link, headers and acknowledgements included, until the radio sleeps again, and counts what exceeds idling. Nothing here was measured on a device. How the same policies do over emulated links is in [energy-lab.md](energy-lab.md).

## What the policies do

` + "`--energy min-energy`" + ` uses the links that need the least energy for what is left. A link that carries r draws α r + β; each that is asleep costs its promotion and its tail once, one that is awake has paid. By such models several links never need less than the best one alone: mostly one works, and several only where they are as good as each other within 1 %, or for a deadline. While the size is unknown, the link works that is the cheapest for a little, and no other is woken; after that, another is woken when what the present one carries is known, by ` + "`bandwidth=`" + ` or a few seconds of measuring, and the change saves more than it costs. What an unknown link carries is guessed from its kind (WiFi 40, LTE 30, 5G 100, 3G 3, Ethernet 100 Mbit/s), and such a gamble has to promise half of the waking on top.

With ` + "`--max-time D`" + ` it looks for the cheapest way that ends in time: the cheapest link first, up to what it can carry until then. A link that is needed is woken at once and not at the last moment: what it has to carry takes the same energy sooner or later, and later is too late when a rate falls. It rests again when the others can do without it. A link that may be needed sleeps for 1 % of D at most before enough is known, and below 6 s all work from the beginning. D is the hard end as before.

` + "`--energy emtcp`" + ` is the rule of Chen, Yuan and Muntean. It has two forms, which complete each other, so both are one mode. By state: while the cheap link is idle, requests of the costly one are 24 % smaller; with both congested it waits. Since a download that takes all that the links can carry never leaves the cheap one idle, there is also the fixed shift: the costly link carries 24 % less than its share, as long as the cheap one can carry that (until the deadline; of a stream, while its consumer has something in reserve). Costly are LTE, 5G and 3G, and of other models those that take a joule or more to wake.

`

// WriteEnergy writes the study as a page of Markdown.
func WriteEnergy(w io.Writer, s *EnergyStudy) error {
	var b strings.Builder
	b.WriteString(energyIntro)
	s.writeChen(&b)
	s.writeShift(&b)
	s.writeThesis(&b)
	s.writeRivals(&b)
	s.writeDeadlines(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *EnergyStudy) writeChen(b *strings.Builder) {
	fmt.Fprintf(b, `## eMTCP: the paper's four cases

A stream of 1 Mbit/s over one link and of 2 Mbit/s over two, for %d s, with a receive buffer of 2.55 MB (their equation 1). Radios spend per bit: what their cases 1 and 2 come to. The rates that the links had left are not told; with %.2f Mbit/s for WiFi and %.2f for LTE the shares of their case 3 are met. One conversion explains their whole Table IV: 61.5 mJ/Mbit over WiFi and 541 over LTE, with 1.06 of 1.95 Mbit/s over LTE with MPTCP and 0.88 of 1.91 with eMTCP.

| case | J/s, paper | J/s | Mbit/s, paper | Mbit/s | J/MB, paper | J/MB | over LTE |
| --- | --- | --- | --- | --- | --- | --- | --- |
`, chenSeconds, chenWiFiMbps, chenLTEMbps)
	for _, c := range s.Chen {
		fmt.Fprintf(b, "| %s | %.3f | %.3f | %.3f | %.3f | %.2f | %.2f | %.0f %% |\n",
			c.Case, c.PaperWatts, c.Watts, c.PaperMbps, c.Mbps, c.PaperPerMB, c.JoulesPerMB, 100*c.CostlyShare)
	}
	both, rule := s.Chen[2], s.Chen[3]
	fmt.Fprintf(b, "\neMTCP against both links: energy %+.1f %%, throughput %+.1f %% (paper: -14.2 %%, -2.1 %%). The paper's Table IV heads cases 3 and 4 the other way round than its text and its Table II; the figures are as in the text.\n\n",
		percent(rule.Watts, both.Watts), percent(rule.Mbps, both.Mbps))
}

func (s *EnergyStudy) writeShift(b *strings.Builder) {
	b.WriteString(`## The fixed shift, on a download that takes all it can get

250 MB with Huang's models of 2012, and with those of the paper above. What LTE is spared, WiFi has to carry, which is busy already: the saving costs time. Above some 15 Mbit/s Huang's LTE takes less for a Mbit than his WiFi, so nothing is shifted. min-energy beside it, which has all the time it wants.

| links | both: s | J | emtcp: s | J | throughput | energy | LTE's part | min-energy: s | J |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
`)
	for _, c := range s.Shift {
		fmt.Fprintf(b, "| %s | %.1f | %.1f | %.1f | %.1f | %+.1f %% | %+.1f %% | %.0f %% to %.0f %% | %.1f | %.1f |\n",
			c.Links, c.BothSeconds, c.BothJoules, c.ShiftSeconds, c.ShiftJoules,
			percent(c.BothSeconds, c.ShiftSeconds), percent(c.ShiftJoules, c.BothJoules),
			100*c.BothLTEShare, 100*c.ShiftedLTEPart, c.MinSeconds, c.MinJoules)
	}
	b.WriteString("\n")
}

func (s *EnergyStudy) writeThesis(b *strings.Builder) {
	fmt.Fprintf(b, `## The thesis's table 7.10

The fastest single link against Algorithm 3, 250 MB, models `+"`wifi-s7-mean` and `lte-s7-mean`"+` and %.1f W for the rest of the device, until the last byte. "Factor" is how much more energy both links take; "rate" is figure 7.12's: 0.5 where they take half the time and the same energy. 7.4.3 finds two groups: two fast links near 0.5, and one slow link beside a fast one near 0.74.

| scenario | group | single, thesis: s | J | sim: s | J | Algorithm 3, thesis: s | J | sim: s | J | factor, thesis | sim | rate, thesis | sim |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
`, thesisBase)
	for i := range s.Thesis {
		t := &s.Thesis[i]
		fmt.Fprintf(b, "| %s | %d | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.2f | %.2f | %.2f | %.2f |\n", t.Scenario, t.Group,
			t.Paper.SingleSeconds, t.Paper.SingleJoules, t.Sim.SingleSeconds, t.Sim.SingleJoules,
			t.Paper.BothSeconds, t.Paper.BothJoules, t.Sim.BothSeconds, t.Sim.BothJoules,
			t.Paper.Factor(), t.Sim.Factor(), t.Paper.Rate(), t.Sim.Rate())
	}
	b.WriteString(`
The groups come apart as in the thesis, and where a slow link is added to a fast one, both take more than the fast one alone. With two fast links the models say that both take less, since the device is done earlier; the thesis measured more. There the S7 drew 3.7 W with both links, 0.5 W beyond what its single links and the rest of the device add up to: a cost of the processor at 140 Mbit/s, which no radio model knows.

`)
}

func (s *EnergyStudy) writeRivals(b *strings.Builder) {
	told := func(r *RivalCase) float64 { return r.Told }
	untold := func(r *RivalCase) float64 { return r.Untold }
	sorted, beyond := s.Worst(told)
	guesses, guessedWrong := s.Worst(untold)
	fmt.Fprintf(b, `## min-energy against the best of {WiFi, the other, both}

%d made-up downloads: WiFi beside LTE, 5G or 3G, 1 to 200 Mbit/s each, 10 KB to 1 GB, seven models; some links wander, some build up.

| | at most 3 %% more | worst | its joules | best way's | all joules, against the best ways' |
| --- | --- | --- | --- | --- | --- |
`, len(s.Rivals))
	row := func(name string, sorted []RivalCase, beyond int, way func(*RivalCase) float64) {
		sum, best := 0.0, 0.0
		for i := range sorted {
			sum += way(&sorted[i])
			best += sorted[i].Best()
		}
		w := &sorted[0]
		fmt.Fprintf(b, "| %s | %d of %d | %+.1f %% | %.2f | %.2f | %+.2f %% |\n", name, len(sorted)-beyond, len(sorted),
			percent(way(w), w.Best()), way(w), w.Best(), percent(sum, best))
	}
	row("bandwidths told (`bandwidth=`)", sorted, beyond, told)
	row("not told", guesses, guessedWrong, untold)
	always, dear := s.Worst(func(r *RivalCase) float64 { return r.Both })
	row("always both links", always, dear, func(r *RivalCase) float64 { return r.Both })
	b.WriteString(`
Those beyond 3 % that were told: small files for which the costly link is the better one. Their size is only known from the first response, which has to come over WiFi, and its radio's fixed cost and a round trip, below 0.45 J, is more than 3 % of them:

| seed | size | best | min-energy |
| --- | --- | --- | --- |
`)
	for _, r := range sorted[:beyond] {
		fmt.Fprintf(b, "| %d | %.1f MB | %.2f J | %.2f J |\n", r.Seed, float64(r.Size)/1e6, r.Best(), r.Told)
	}
	b.WriteString(`
Without ` + "`bandwidth=`" + ` nobody can do as well: whether to wake LTE for 50 MB depends on what it carries, and to find that out costs what it may save.

`)
}

func (s *EnergyStudy) writeDeadlines(b *strings.Builder) {
	b.WriteString(`## min-energy with a deadline

The same downloads, with deadlines of so many times what both links take without a rule; every other one is told the bandwidths.

| deadline | missed | energy against both links |
| --- | --- | --- |
`)
	for k, factor := range deadlineFactors() {
		missed, n, sum, both := 0, 0, 0.0, 0.0
		for i := k; i < len(s.Deadlines); i += len(deadlineFactors()) {
			d := &s.Deadlines[i]
			n++
			sum += d.Joules
			both += d.BothJoules
			if d.Missed() {
				missed++
			}
		}
		fmt.Fprintf(b, "| %.2f | %d of %d | %+.1f %% |\n", factor, missed, n, percent(sum, both))
	}
}

// percent is by how much x exceeds y.
func percent(x, y float64) float64 { return 100 * (x/y - 1) }
