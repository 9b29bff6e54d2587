package faults

import (
	"slices"
	"testing"

	"github.com/mlget/mlget/internal/linklab/hostile"
)

func TestMatrixHasEveryCombinationOnce(t *testing.T) {
	all := Matrix()
	if len(all) < 1000 {
		t.Errorf("%d cells", len(all))
	}
	seen := map[string]bool{}
	for _, c := range all {
		if seen[c.String()] {
			t.Errorf("%s comes twice", c)
		}
		seen[c.String()] = true
	}
	for _, name := range []string{
		"link/down/tls/1.1-tls/1", "link/half-open/redirect/2/3", "link/loss-5/tail/1.1/2", "link/rst/middle/2-tls/3", "link/up-again/start/1.1/2/all",
		"server/truncated/tail/2-tls/2/edge/once", "server/wrong-start/start/1.1/1/all/always",
		"server/http10/start/1.1/2/all/always", "server/goaway/middle/2-tls/1/all/once",
	} {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}
	for _, c := range all {
		if c.Family == OfServer && c.Protocol == HTTP1 && !hostile.TraitsOf(hostile.Kind(c.Kind)).HTTP1 {
			t.Errorf("%s: not of HTTP/1", c)
		}
	}
}

func TestChooseTakesEveryKindAndRepeatsItself(t *testing.T) {
	all := Matrix()
	kinds := map[string]bool{}
	for _, c := range all {
		kinds[string(c.Family)+c.Kind] = true
	}
	some := Choose(all, 7, 190)
	if len(some) != 190 || !slices.Equal(some, Choose(all, 7, 190)) || slices.Equal(some, Choose(all, 8, 190)) {
		t.Errorf("%d cells, or not the same with the same seed, or the same with another", len(some))
	}
	for _, c := range some {
		delete(kinds, string(c.Family)+c.Kind)
	}
	if len(kinds) > 0 {
		t.Errorf("left out: %v", kinds)
	}
	if n := len(Choose(all, 7, len(all))); n != len(all) {
		t.Errorf("%d of %d cells", n, len(all))
	}
	if few := Choose(all, 7, 0); len(few) != len(some)-countRepeats(some) {
		t.Errorf("%d cells for as many kinds as there are", len(few))
	}
}

// countRepeats is how many cells are of a kind that was there before.
func countRepeats(cells []Cell) (n int) {
	seen := map[string]bool{}
	for _, c := range cells {
		if seen[string(c.Family)+c.Kind] {
			n++
		}
		seen[string(c.Family)+c.Kind] = true
	}
	return n
}

// With another link that is a good one, nothing but the file will do.
func TestWhatOneLinkCannotSpoilHasToFinish(t *testing.T) {
	for _, c := range Matrix() {
		e := c.expect()
		switch {
		case c.Kind == string(Scrambled) && !c.Protocol.TLS():
			if !e.checksum {
				t.Errorf("%s has no checksum, and nothing else could tell", c)
			}
		case c.Family == OfLink && c.Links > 1 && !c.All && len(e.codes) > 0:
			t.Errorf("%s may fail with %v", c, e.codes)
		case c.Edge && len(e.codes) > 0 && !c.poisons():
			t.Errorf("%s may fail with %v", c, e.codes)
		case e.timeout <= 0 || slices.Contains(e.codes, 0):
			t.Errorf("%s: %+v", c, e)
		}
	}
}

func TestMatching(t *testing.T) {
	if n := len(Matching(Matrix(), []string{"link/down/tls", "link/rst/tls/2-tls/3"})); n != 9 {
		t.Errorf("%d cells", n)
	}
	if n := len(Matching(Matrix(), []string{"link/rst/*2-tls*/all"})); n != 5 {
		t.Errorf("%d cells for a pattern", n)
	}
}
