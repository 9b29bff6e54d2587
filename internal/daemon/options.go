package daemon

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
)

// Options are options by aria2's names. A header line is a line of "header".
type Options map[string]string

// Packed are a job's options in one text: of ten thousand jobs that wait, the maps would be half
// of the memory. The zero value has no options.
type Packed string

const packedEnd = "\x00" // behind a name, and behind a value; neither has it in itself

// Pack packs options.
func (o Options) Pack() Packed {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(o)) {
		b.WriteString(name + packedEnd + o[name] + packedEnd)
	}
	return Packed(b.String())
}

// All are the options, to be changed at will.
func (p Packed) All() Options {
	o := Options{}
	for rest := string(p); rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, packedEnd)
		o[name], rest, _ = strings.Cut(rest, packedEnd)
	}
	return o
}

// Get is an option's value; "": it is not set.
func (p Packed) Get(name string) string {
	value, _ := p.Lookup(name)
	return value
}

// Lookup is an option's value, and whether it is set.
func (p Packed) Lookup(name string) (value string, ok bool) {
	for rest := string(p); rest != ""; {
		var found string
		found, rest, _ = strings.Cut(rest, packedEnd)
		value, rest, _ = strings.Cut(rest, packedEnd)
		if found == name {
			return value, true
		}
	}
	return "", false
}

// MarshalJSON implements json.Marshaler: as Options.
func (p Packed) MarshalJSON() ([]byte, error) { return json.Marshal(p.All()) }

// UnmarshalJSON implements json.Unmarshaler: from Options.
func (p *Packed) UnmarshalJSON(text []byte) error {
	var o Options
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	for name, value := range o {
		if name == "" || strings.Contains(name+value, packedEnd) {
			return errors.New("an option has no name, or a NUL in it")
		}
	}
	*p = o.Pack()
	return nil
}
