package papers

import (
	"bytes"
	"testing"

	"github.com/mlget/mlget/internal/goldentest"
	"github.com/mlget/mlget/internal/race"
)

// The limits that jobs of many files are held to, and docs/measured/many-files-sim.md with
// all figures. After a change: UPDATE_GOLDEN=1 go test ./internal/papers -run StudyFiles.
func TestStudyFiles(t *testing.T) {
	short := testing.Short() || race.Enabled
	s, err := StudyFiles(short)
	if err != nil {
		t.Fatal(err)
	}
	if short {
		return
	}
	at := func(set string, n int) float64 { return find(s.Concurrency, "sydney", set, n, 1).Mbps }
	for set, gain := range map[string]float64{"html": 10, "image": 5, "video": 3.5} {
		if at(set, 16) < gain*at(set, 1) {
			t.Errorf("%s: %.1f Mbit/s with one file at once, %.1f with 16", set, at(set, 1), at(set, 16))
		}
		if at(set, 64) > 1.1*at(set, 32) {
			t.Errorf("%s: the gain does not end: %.1f Mbit/s with 32 files at once, %.1f with 64", set, at(set, 32), at(set, 64))
		}
	}
	for set, gains := range map[string]bool{"html": false, "image": false, "video": true, "1gb": true} {
		one, many := find(s.Parallelism, "sydney", set, 1, 1).Mbps, find(s.Parallelism, "sydney", set, 1, 8).Mbps
		if gains && many < 3*one || !gains && many > 1.05*one {
			t.Errorf("%s: %.1f Mbit/s over one connection, %.1f over 8", set, one, many)
		}
	}
	for _, c := range s.Modes {
		least := map[string]float64{"html": 0.95, "image": 0.96, "video": 0.96, mixed: 0.96}[c.Set]
		if c.Mode == "hat" && c.OfBound < least {
			t.Errorf("%s of %s: %.4f of the bound", c.Set, c.Scenario, c.OfBound)
		}
	}
	m := s.Means()
	hat, eht, lowe := m[0], m[1], m[2]
	if hat.Mbps < eht.Mbps || hat.Mbps < lowe.Mbps || lowe.Per100MB > eht.Per100MB || lowe.Per100MB > hat.Per100MB ||
		eht.PerJoule < hat.PerJoule || eht.PerJoule < lowe.PerJoule {
		t.Errorf("modes: %+v", m)
	}
	within := 0
	for i := range s.Searches {
		if s.Searches[i].OfBest() >= settledWithin {
			within++
		}
	}
	if 10*within < 8*len(s.Searches) {
		t.Errorf("EHT settles near the best in %d of %d", within, len(s.Searches))
	}
	var page bytes.Buffer
	if err := WriteFiles(&page, s); err != nil {
		t.Fatal(err)
	}
	goldentest.File(t, "../../docs/measured/many-files-sim.md", page.Bytes())
}
