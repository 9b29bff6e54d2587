// Package campaign measures as the thesis does [3.1.4]: every approach a number of
// times, in random order, so that nothing that changes with the hour falls on one of
// them alone. What was measured is in a directory, and a campaign that was interrupted
// goes on from there.
//
// Contract: a Campaign belongs to one goroutine; its Runner is called from there, for
// one run after the other.
package campaign

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
)

// Approach is one way to download.
type Approach struct {
	Name      string   `json:"name"` // fit for a file's name
	Algorithm string   `json:"algorithm"`
	Energy    string   `json:"energy"` // the energy policy
	Links     []string `json:"links"`
}

// Plan is what is to be measured. Two campaigns are the same if their plans are.
type Plan struct {
	URL        string     `json:"url"` // without user and password
	Approaches []Approach `json:"approaches"`
	Runs       int        `json:"runs"` // of each approach
	Seed       uint64     `json:"seed"` // of the order
	// Flags are fingerprints of the values of the downloads' flags, by their names.
	Flags map[string]string `json:"flags,omitempty"`
}

// differences says, for people, in what another plan differs from this one.
func (p Plan) differences(now Plan) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if p.URL != now.URL {
		add("the URL was %s", p.URL)
	}
	if p.Seed != now.Seed {
		add("--seed was %d", p.Seed)
	}
	for _, a := range p.Approaches {
		if !slices.ContainsFunc(now.Approaches, a.equal) {
			add("%s is missing", a)
		}
	}
	for _, a := range now.Approaches {
		if !slices.ContainsFunc(p.Approaches, a.equal) {
			add("%s is new", a)
		}
	}
	if len(list) == 0 && !slices.EqualFunc(p.Approaches, now.Approaches, Approach.equal) {
		add("the algorithms or links have another order")
	}
	names := maps.Clone(p.Flags)
	if names == nil {
		names = make(map[string]string)
	}
	maps.Copy(names, now.Flags)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, before := p.Flags[name]
		is, after := now.Flags[name]
		switch {
		case !before:
			add("%s is new", name)
		case !after:
			add("%s is missing", name)
		case was != is:
			add("%s has another value", name)
		}
	}
	return list
}

func (a Approach) equal(b Approach) bool {
	return a.Name == b.Name && a.Algorithm == b.Algorithm && a.Energy == b.Energy && slices.Equal(a.Links, b.Links)
}

// String is the approach for people.
func (a Approach) String() string {
	text := "algorithm " + a.Algorithm + " over " + strings.Join(a.Links, ", ")
	if a.Energy != "off" {
		text += " with energy " + a.Energy
	}
	return text
}

// Approaches gives those of algorithms and energy policies over links: single by each
// link alone, which energy has no say in, all others over all links at once.
func Approaches(algorithms, energies, links []string) (list []Approach) {
	for _, algorithm := range algorithms {
		if algorithm == "single" || len(links) == 1 {
			for _, l := range links {
				list = append(list, Approach{Name: "single-" + l, Algorithm: "single", Energy: "off", Links: []string{l}})
			}
			if len(links) == 1 {
				break // with one link all are the same
			}
			continue
		}
		for _, energy := range energies {
			a := Approach{Name: algorithm, Algorithm: algorithm, Energy: energy, Links: links}
			if program, ok := strings.CutPrefix(algorithm, "exec:"); ok {
				a.Name = "exec-" + filepath.Base(program)
			}
			if strings.Trim(algorithm, "123") == "" {
				a.Name = "algorithm-" + algorithm
			}
			if energy != "off" {
				a.Name += "-" + energy
			}
			list = append(list, a)
		}
	}
	nameFiles(list)
	return list
}

// nameFiles makes names fit for files, each another one, also where case does not count.
// Those that are fit as they are keep theirs, and of the others the second gets a number.
func nameFiles(list []Approach) {
	taken := make(map[string]bool)
	for _, fit := range []bool{true, false} {
		for i := range list {
			plain := fileName(list[i].Name)
			if (plain == list[i].Name) != fit {
				continue
			}
			name := plain
			for n := 2; taken[strings.ToLower(name)]; n++ {
				name = fmt.Sprintf("%s-%d", plain, n)
			}
			taken[strings.ToLower(name)] = true
			list[i].Name = name
		}
	}
}

// fileName makes a name of text: of a link's name only what every file system takes.
func fileName(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, text)
}

// execution is one run of one approach.
type execution struct {
	approach int
	n        int // from 1
}

// order is all executions: round after round, each of which has every approach once, in
// random order. So the runs of a round are neighbours in time and can be compared in pairs,
// and a campaign that was interrupted has as many runs of each approach, or one more.
func (p Plan) order() []execution {
	all := make([]execution, 0, len(p.Approaches)*p.Runs)
	random := rand.New(rand.NewPCG(p.Seed, 0x6d6c676574))
	for n := range p.Runs {
		for _, i := range random.Perm(len(p.Approaches)) {
			all = append(all, execution{approach: i, n: n + 1})
		}
	}
	return all
}

// file is the name of an execution's record and report, without the ending.
func (p Plan) file(e execution) string {
	return fmt.Sprintf("%s.%03d", p.Approaches[e.approach].Name, e.n)
}
