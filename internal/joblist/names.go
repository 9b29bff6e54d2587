package joblist

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Names knows which names the files of a job have, so that each has another, the
// same in every run. It keeps a few bytes of each.
type Names struct {
	// Fold says that the file system takes names for one that differ in case, or in
	// how letters with accents are encoded.
	Fold  bool
	taken map[uint64]int32 // by a name's hash: the next number to try behind it
}

// Number gives a file its name: the smallest number n for which nobody has name(n)
// yet, where name(0) is the name as it should be.
func (s *Names) Number(name func(n int) string) int {
	if s.taken == nil {
		s.taken = make(map[uint64]int32)
	}
	first := s.key(name(0))
	next, known := s.taken[first]
	if !known {
		s.taken[first] = 1
		return 0
	}
	for n := int(next); ; n++ {
		k := s.key(name(n))
		if _, known := s.taken[k]; known {
			continue
		}
		s.taken[k] = 1
		s.taken[first] = int32(n + 1)
		return n
	}
}

func (s *Names) key(name string) uint64 {
	if s.Fold {
		name = fold(name)
	}
	return hash(name)
}

// fold makes one of all names that a file system may take for the same. It may
// make one of two that are none; then one of these has a number, no more.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			least = min(least, o)
		}
		return least
	}, norm.NFD.String(name))
}

// hash is FNV-1a: the same in every run. Who makes two names collide gets a number
// behind one of them.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
