// Package dataset describes sets of files for tests of jobs of many files:
// which names, which sizes, which bytes. They are those of Guner and Kosar,
// "Energy-Performance Trade-offs in Mobile Data Transfers", Table 2, made up
// from a formula, so that every machine makes the same ones, and so that a
// server can send them without having them on a disk.
//
// Contract: everything but Write and CheckOurs is pure, and all values are plain: safe
// for use by several goroutines.
package dataset

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mlget/mlget/internal/testbody"
)

// Group is files of one kind: the whole of a set, or part of one.
type Group struct {
	Kind  Kind
	Count int // the first so many of the kind; not more than Kind.Count
}

// Kind is one of the sets of files that there are.
type Kind struct {
	Name  string
	Count int
	Ext   string // with its dot
	// Sizes in bytes lie within Min and Max, on average at about Mean.
	Min, Mean, Max int64
}

// The paper's kilobytes and megabytes are of 1024: only so do its numbers and
// averages come to its totals.
const (
	kilo = 1 << 10
	mega = 1 << 20
	giga = 1 << 30
)

// Kinds are all sets that there are: those of the paper's Table 2, and the
// single file of 1 GB of its Figure 3.
func Kinds() []Kind {
	return []Kind{
		{Name: "html", Count: 1500, Ext: ".html", Min: 102 * kilo, Mean: 128 * kilo, Max: 153 * kilo},
		{Name: "image", Count: 200, Ext: ".jpg", Min: 524 * kilo, Mean: 640 * kilo, Max: 786 * kilo},
		{Name: "video", Count: 64, Ext: ".mp4", Min: 10 * mega, Mean: 16*mega + 4*mega/10, Max: 20 * mega},
		{Name: "1gb", Count: 1, Ext: ".bin", Min: giga, Mean: giga, Max: giga},
		{Name: "3gb", Count: 1, Ext: ".bin", Min: 3 * giga, Mean: 3 * giga, Max: 3 * giga},
		{Name: "10gb", Count: 1, Ext: ".bin", Min: 10 * giga, Mean: 10 * giga, Max: 10 * giga},
		{Name: "32gb", Count: 32, Ext: ".bin", Min: giga, Mean: giga, Max: giga},
	}
}

// Names are those of all kinds.
func Names() []string {
	all := Kinds()
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names
}

// Set is files of one kind or several, in the order of the groups.
type Set struct {
	Groups []Group
}

// ErrUnknown says that a text names no set of files.
var ErrUnknown = errors.New("no such set of files")

// Parse reads a set's name: a kind, or with /N the first N files of it, or
// several of these with + in between: "html", "html/600", "html/150+video/6".
func Parse(text string) (Set, error) {
	var s Set
	for part := range strings.SplitSeq(text, "+") {
		name, number, cut := strings.Cut(part, "/")
		k, ok := kind(name)
		if !ok {
			return Set{}, fmt.Errorf("%w: %q: there are %s, also %s/N, and several with + in between",
				ErrUnknown, part, strings.Join(Names(), ", "), k.Name)
		}
		g := Group{Kind: k, Count: k.Count}
		if cut {
			n, err := strconv.Atoi(number)
			if err != nil || n < 1 || n > k.Count || number != strconv.Itoa(n) {
				return Set{}, fmt.Errorf("%w: %q: %s has 1 to %d files", ErrUnknown, part, name, k.Count)
			}
			g.Count = n
		}
		for _, o := range s.Groups {
			if o.Kind.Name == name {
				return Set{}, fmt.Errorf("%w: %q: %s stands there twice", ErrUnknown, text, name)
			}
		}
		s.Groups = append(s.Groups, g)
	}
	return s, nil
}

// kind is that of a name, and where there is none the first of all.
func kind(name string) (Kind, bool) {
	all := Kinds()
	for _, k := range all {
		if k.Name == name {
			return k, true
		}
	}
	return all[0], false
}

// Len is the number of files.
func (s Set) Len() int {
	n := 0
	for _, g := range s.Groups {
		n += g.Count
	}
	return n
}

// Bytes is the sum of the files' sizes.
func (s Set) Bytes() int64 {
	sum := int64(0)
	for i := range s.Len() {
		sum += s.File(i).Body.Size
	}
	return sum
}

// File is one file of a set.
type File struct {
	Name string // of letters, digits, - and . only
	Body testbody.Body
}

// File is the i-th file, from 0.
func (s Set) File(i int) File {
	for _, g := range s.Groups {
		if i < g.Count {
			return g.Kind.file(i)
		}
		i -= g.Count
	}
	return File{}
}

// Find is the file of that name, as File makes it.
func (s Set) Find(name string) (File, bool) {
	for _, g := range s.Groups {
		rest, ok := strings.CutPrefix(name, g.Kind.Name+"-")
		if !ok {
			continue
		}
		number, _ := strings.CutSuffix(rest, g.Kind.Ext)
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 || i >= g.Count {
			continue
		}
		if f := g.Kind.file(i); f.Name == name {
			return f, true
		}
	}
	return File{}, false
}

// file is the i-th of its kind: the same in every set.
func (k Kind) file(i int) File {
	seed := uint64(i) + 1
	for _, c := range k.Name {
		seed = mix(seed ^ uint64(c)<<32)
	}
	return File{
		Name: fmt.Sprintf("%s-%04d%s", k.Name, i, k.Ext),
		Body: testbody.Body{Size: k.size(seed), Seed: seed},
	}
}

// size is a file's size in bytes: uniformly distributed over the lower or the
// upper half of the range, the lower one with the probability that brings the
// mean to Mean. Integers alone, so that all machines agree.
func (k Kind) size(seed uint64) int64 {
	span := k.Max - k.Min
	if span == 0 {
		return k.Min
	}
	// mean = min + span*(p/4 + 3(1-p)/4); p is in thousandths.
	lower := uint64(1500 - 2000*(k.Mean-k.Min)/span)
	half := uint64(span/2) + 1
	size := k.Min + int64(mix(seed+1)%half)
	if mix(seed+2)%1000 >= lower {
		size += span - span/2
	}
	return min(size, k.Max)
}

// mix is splitmix64's finalizer (Steele, Lea and Flood 2014).
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
