package papers

import (
	"fmt"
	"strings"
)

// writeRivals tells how min-energy does against the best of the ways without it.
func (s *EnergyStudy) writeRivals(b *strings.Builder) {
	told := func(r *RivalCase) float64 { return r.Told }
	best := (*RivalCase).Best
	sorted, beyond := s.Worst(told, best)
	fmt.Fprintf(b, `## min-energy against the best of {WiFi, the other, both}

%d made-up downloads: WiFi beside LTE, 5G or 3G, 1 to 200 Mbit/s each, 10 KB to 1 GB, seven models; some links wander, some build up. Those that are not told the bandwidths are held against the three ways without them, which take a little longer over long round trips.

| | at most 3 %% more | worst | its joules | best way's | all joules, against the best ways' |
| --- | --- | --- | --- | --- | --- |
`, len(s.Rivals))
	row := func(name string, way, best func(*RivalCase) float64) {
		sorted, beyond := s.Worst(way, best)
		sum, least := 0.0, 0.0
		for i := range sorted {
			sum += way(&sorted[i])
			least += best(&sorted[i])
		}
		w := &sorted[0]
		fmt.Fprintf(b, "| %s | %d of %d | %+.1f %% | %.2f | %.2f | %+.2f %% |\n", name, len(sorted)-beyond, len(sorted),
			percent(way(w), best(w)), way(w), best(w), percent(sum, least))
	}
	row("bandwidths told (`bandwidth=`)", told, best)
	row("not told", func(r *RivalCase) float64 { return r.Untold }, (*RivalCase).BlindBest)
	row("always both links", func(r *RivalCase) float64 { return r.Both }, best)
	b.WriteString(`
Those beyond 3 % that were told: small files for which the costly link is the better one. Their size is only known from the first response, which has to come over WiFi, and its radio's fixed cost and a round trip, below 0.45 J, is more than 3 % of them:

| seed | size | best | min-energy |
| --- | --- | --- | --- |
`)
	for _, r := range sorted[:beyond] {
		fmt.Fprintf(b, "| %d | %.1f MB | %.2f J | %.2f J |\n", r.Seed, float64(r.Size)/1e6, r.Best(), r.Told)
	}
	s.writeBlind(b)
}

// writeBlind tells what is to be had without being told.
func (s *EnergyStudy) writeBlind(b *strings.Builder) {
	var counts [Searching + 1]int
	hopeless, possible, worst := 0, 0.0, 0.0
	var rows strings.Builder
	for i := range s.Rivals {
		r := &s.Rivals[i]
		possible += r.Blind.Best()
		v, lost := r.Verdict()
		counts[v]++
		if v == Searching {
			worst = max(worst, r.Untold-r.BlindBest())
		}
		if v == Right {
			continue
		}
		fmt.Fprintf(&rows, "| %d | %.1f MB | %.1f | %s, %.1f | %.2f | %s | %.2f | %.2f | ",
			r.Seed, float64(r.Size)/1e6, r.Rates[0], r.Model, r.Rates[1], r.Blind.Waking, v.Text(), r.Untold, r.BlindBest())
		switch {
		case lost && v == Woke:
			fmt.Fprintf(&rows, "%.1f: %.2f instead of %.2f |\n", r.Blind.OnlyWake, r.Blind.Woken, r.BlindWiFi)
		case lost && v == Stayed:
			fmt.Fprintf(&rows, "%.1f: %.2f instead of %.2f |\n", r.Blind.OnlyStay, r.BlindWiFi, r.BlindWiFi+r.Blind.Waking)
		default:
			rows.WriteString("none |\n")
		}
		if lost {
			hopeless++
		}
	}
	fmt.Fprintf(b, `
### What cannot be had without being told

Whether to wake the other link for 50 MB depends on what it carries. Nobody knows that before it has been woken, and then it has been paid for: a promotion, and a tail. Of %d downloads without `+"`bandwidth=`"+`

- %d took at most 3 %% more than the best way;
- in %d the other link was woken, and turned out too slow to be worth it;
- in %d it was left asleep, and would have been fast enough;
- in %d mlget did what was right, or as good as right, and paid for finding that out: a second or two of measuring WiFi, or a slow link tried; %.2f J at most.

%d of those in the middle have a *twin*: the same file over the same WiFi, beside a link of the same kind with another rate, for which what mlget did is the only way within 3 %%. Until the other link is woken, a download and its twin cannot be told apart. So whatever a policy does, it does for both, and is beyond 3 %% with one of them: with the one by waking, since the promotion and the tail alone are more than that, with the other by not waking, since WiFi takes more than that. No cleverness helps; only knowing does.

How often such a policy can be right at all is computed from %d rates of the other link for each download, from 1 to 200 Mbit/s in equal steps of their logarithms, as the links were made up: one that knew WiFi's rate beforehand, the rates there are, and what is right for most of them, would be within 3 %% in %.0f of %d on average. mlget knows none of that: it goes by what is usual for a kind of link, 30 Mbit/s for LTE, and by what WiFi could carry at best, as long as that has not been measured.

**So say what the links carry,** if joules matter: `+"`--link rmnet0,bandwidth=4M`"+` (bytes per second; what an earlier download showed will do). The first line of the table above is what that brings.

Twin: a rate of the other link in Mbit/s at which what mlget did was right, the joules that it takes there, and those of doing the opposite, at least.

| seed | size | WiFi, Mbit/s | other, Mbit/s | to wake it, J | mlget | J | best way's | twin |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
`, len(s.Rivals), counts[Right], counts[Woke], counts[Stayed], counts[Searching], worst, hopeless, twinRates, possible, len(s.Rivals))
	b.WriteString(rows.String())
	b.WriteString("\n")
}
