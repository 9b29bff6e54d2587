package papers

import (
	"fmt"
	"io"
	"strings"

	"github.com/mlget/mlget/internal/energy"
)

// energyIntro opens docs/measured/energy.md.
const energyIntro = `# Energy policies, rehearsed

This page is made by ` + "`linklab rehearse energy`" + ` and checked by a test of internal/papers. Every joule on it is *modelled*: the simulator drives a radio model ([energy-models.md](../energy-models.md)) with the bytes that cross each link, headers and acknowledgements included, until the radio sleeps again, and counts what exceeds idling. Nothing here was measured on a device. How the same policies do over emulated links is in [energy-lab.md](energy-lab.md).

## What the policies do

` + "`--energy min-energy`" + ` uses the links that need the least energy for what is left. A link that carries r draws α r + β; each that is asleep costs its promotion and its tail once, one that is awake has paid. By such models several links never need less than the best one alone: mostly one works, and several only where they are as good as each other within 1 %, or for a deadline. While the size is unknown, the link works that is the cheapest for a little, and no other is woken; after that, another is woken when that saves more than it costs. What the present one carries is known by ` + "`bandwidth=`" + ` or by a second or two of measuring; until then it is given the benefit of the doubt, and the change has to pay even if it carried 1 Gbit/s. (By Huang's models it often does: his WiFi takes 142 mJ for a Mbit at any rate.) What an unknown link carries is guessed from its kind (WiFi 40, LTE 30, 5G 100, 3G 3, Ethernet 100 Mbit/s), and such a gamble has to promise half of the waking on top.

Models are corrected while a run lasts, where ` + "`--power`" + ` measures (not on external power, and with a base power: ` + "`--power-baseline 2s`" + `). While one link works alone, and the tails of all others are over, what the device draws above its base power is that link's: after three seconds its model is scaled by it, by a quarter to four times, and min-energy decides by the scaled model from then on. One gauge cannot tell two links at work apart, so nothing is learnt then. What the processor draws for the download is in the scale as well; a link that has not worked yet keeps its model.

With ` + "`--max-time D`" + ` it looks for the cheapest way that ends in time: the cheapest link first, up to what it can carry until then. A link that is needed is woken at once and not at the last moment: what it has to carry takes the same energy sooner or later, and later is too late when a rate falls. It rests again when the others can do without it. A link that may be needed sleeps for 1 % of D at most before enough is known, and below 6 s all work from the beginning. D is the hard end as before.

` + "`--energy emtcp`" + ` is the rule of Chen, Yuan and Muntean. A costly link carries 24 % less than its share; ` + "`emtcp=0.1`" + ` says another part. It goes by the links' states. Of a stream, the costly link is held to that while the cheap one has nothing to do, and the stream's consumer something in reserve; while the cheap link is congested, the costly one carries what it can; with both congested it waits. A file takes all that the links can carry and never leaves the cheap one idle: there the shift is fixed, as long as the cheap link can carry the rest until the deadline. Costly are LTE, 5G and 3G, and of other models those that take a joule or more to wake.

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

| case | J/s, paper | J/s | Mbit/s, paper | Mbit/s | J/MB, paper | J/MB | over LTE | PSNR, paper | PSNR, dB | battery, paper | battery, h |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
`, chenSeconds, chenWiFiMbps, chenLTEMbps)
	for _, c := range s.Chen {
		fmt.Fprintf(b, "| %s | %.3f | %.3f | %.3f | %.3f | %.2f | %.2f | %.0f %% | %.1f | %.1f | %.3f | %.3f |\n",
			c.Case, c.PaperWatts, c.Watts, c.PaperMbps, c.Mbps, c.PaperPerMB, c.JoulesPerMB, 100*c.CostlyShare, c.PaperPSNR, c.PSNR, c.PaperHours, c.Hours)
	}
	both, rule := s.Chen[2], s.Chen[3]
	fmt.Fprintf(b, `
eMTCP against both links: energy %+.1f %%, throughput %+.1f %%, energy efficiency %+.1f %% (paper: -14.2 %%, -2.1 %%, +14.1 %%). The paper's Table IV heads cases 3 and 4 the other way round than its text and its Table II; the figures are as in the text.

PSNR is their equation 2: 20 log10(bit rate / |bit rate - throughput|). The stream here may be fetched ahead, theirs was sent as it was made, so ours falls short by its beginning alone, and hardly at all over one link. The battery holds their 300 J, and radios are all it feeds.

The saving is the state detector's: of a stream nothing is shifted unless WiFi is idle. Without it (and with any share) eMTCP takes what both links take. A detector that waits until a link has been silent for 100 ms would see nothing here: a link that has nothing to do takes over from the other one at once, which lets both end together and costs a connection each time. So a link is idle here as soon as it has nothing to be asked for.

`,
		percent(rule.Watts, both.Watts), percent(rule.Mbps, both.Mbps), percent(rule.Mbps/rule.Watts, both.Mbps/both.Watts))
	s.writeShares(b)
}

func (s *EnergyStudy) writeShares(b *strings.Builder) {
	b.WriteString(`### The share: their figure 4

` + "`--energy emtcp=SHARE`" + `, 0.24 by default. The stream is that of case 4; the file is 250 MB over links of 20 Mbit/s each, with the same radios.

| share | Mbit/J | J/s | Mbit/s | PSNR, dB | over LTE | file: s | J | Mbit/J |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
`)
	for i := range s.Shares {
		c := &s.Shares[i]
		fmt.Fprintf(b, "| %.0f %% | %.2f | %.3f | %.3f | %.1f | %.0f %% | %.1f | %.1f | %.2f |\n",
			100*c.Share, c.MbitPerJoule(), c.Watts, c.Mbps, c.PSNR, 100*c.CostlyShare, c.FileSeconds, c.FileJoules, 2000/c.FileJoules)
	}
	best := bestShare(s.Shares)
	fmt.Fprintf(b, `
The stream's efficiency is best from %.0f %% on (within half a percent; the paper: "approximately 24 %%"): WiFi has %.2f Mbit/s, and by then carries all of that. With more, the paper's efficiency falls, "as the data size allocated to the WiFi link exceeds its capacity". Here it stays: a WiFi that is full is not idle, and nothing more is moved. In a file's share there is no such bound, and every percent costs time. By Mbit/J alone all of it belongs on WiFi, with these radios: so it does in the paper's own Table IV, where case 1 has %.1f Mbit/J, and case 4 %.1f.

`, 100*best.Share, chenWiFiMbps, s.Chen[0].PaperMbps/s.Chen[0].PaperWatts, s.Chen[3].PaperMbps/s.Chen[3].PaperWatts)
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
	phone := energy.GalaxyS7()
	fmt.Fprintf(b, `## The thesis's table 7.10

The fastest single link against Algorithm 3, 250 MB, models `+"`wifi-s7-mean` and `lte-s7-mean`"+`, %.1f W for the rest of the device, and what two links cost together (below), until the last byte. "Factor" is how much more energy both links take; in brackets, by the radios' models alone. "Rate" is figure 7.12's: 0.5 where they take half the time and the same energy. 7.4.3 finds two groups: two fast links near 0.5, and one slow link beside a fast one near 0.74.

| scenario | group | single, thesis: s | J | sim: s | J | Algorithm 3, thesis: s | J | sim: s | J | factor, thesis | sim | rate, thesis | sim |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
`, phone.BaseWatts)
	for i := range s.Thesis {
		t := &s.Thesis[i]
		fmt.Fprintf(b, "| %s | %d | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.2f | %.2f (%.2f) | %.2f | %.2f (%.2f) |\n", t.Scenario, t.Group,
			t.Paper.SingleSeconds, t.Paper.SingleJoules, t.Sim.SingleSeconds, t.Sim.SingleJoules,
			t.Paper.BothSeconds, t.Paper.BothJoules, t.Sim.BothSeconds, t.Sim.BothJoules,
			t.Paper.Factor(), t.Sim.Factor(), t.Apart.Factor(), t.Paper.Rate(), t.Sim.Rate(), t.Apart.Rate())
	}
	fmt.Fprintf(b, `
The groups come apart as in the thesis, and in both two links take more than the faster one alone.

By the radios' models alone two fast links would take less, since the device is done earlier. The thesis measured more: in all its 15 downloads with Algorithms 1, 2 and 3 the S7 took more than its single-link downloads and its 0.7 W add up to, by 0.01 to 0.3 W beside WiFi of 7 to 15 Mbit/s, and by 0.4 to 0.9 W beside WiFi of 48 to 74. That is not a constant for both radios at once. It grows with the slower link: %.1f mJ for each Mbit that it carries (± 1.3, by least squares over the 15; of 7.2 J on average 2.7 J remain unexplained, RMS; a constant leaves 5.2, a term for the sum of the rates 3.9). It is fitted to what this table shows, so the table is no proof of it; but without a scenario's own downloads the fit says the same of that scenario, with all five (a test of internal/energy). The thesis does not say what draws it; its CPU readings rise from 60-65 to 70 %% (table 6.18). The term is kept for this phone and this table: it is no radio's, and for min-energy it would change nothing, which by the radios' models alone uses one link where a deadline does not ask for more.

`, phone.Together)
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
