package energy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Limits of what a file of models may say. They are far beyond any radio; their
// purpose is that a slip of units is noticed.
const (
	maxRadios      = 100
	maxName        = 32      // characters
	maxText        = 200     // characters
	maxSlope       = 10_000  // mW per Mbit/s
	maxPower       = 100_000 // mW
	maxMillisecond = 600_000 // 10 minutes
	maxMicrojoules = 1e6     // per packet
)

// MaxModelFile is the length of the longest file of models, in bytes.
const MaxModelFile = 1 << 20

// Models are a device's models: the built-in radios, and those of a file, which take
// precedence. The zero value has the built-in ones only.
type Models struct {
	Device string // as the file says, for people
	Source string // as the file says, for people
	// FullLoad is the device's power under full load, in watts; 0: not in the file.
	FullLoad float64

	radios []entry
	tcp    *TCPCost
}

// entry is a radio of a file, under the name that it has there.
type entry struct {
	name  string
	radio Radio
}

// Lookup returns the radio model of that name: the file's, or else the one that
// is built in.
func (m *Models) Lookup(name string) (Radio, bool) {
	if r, ok := m.own(name); ok {
		return r, true
	}
	return Lookup(name)
}

// Of returns the model of the radio behind a link: the file's model of the link's own name, or
// else that of its technology.
func (m *Models) Of(link, tech string) (Radio, bool) {
	if r, ok := m.own(link); ok {
		return r, true
	}
	return m.Lookup(tech)
}

// own returns the file's model of that name.
func (m *Models) own(name string) (Radio, bool) {
	for _, e := range m.radios {
		if e.name == name {
			return e.radio, true
		}
	}
	return Radio{}, false
}

// Names lists the models: built-in ones, then the file's others, in alphabetical order.
func (m *Models) Names() []string {
	names := Names()
	for _, e := range m.radios {
		if !slices.Contains(names, e.name) {
			names = append(names, e.name)
		}
	}
	return names
}

// TCP is the cost of TCP's work: the file's figures, or else the iPAQ's of 2003.
func (m *Models) TCP() TCPCost {
	if m.tcp != nil {
		return *m.tcp
	}
	return TCPCosts()[0]
}

// ParseModels reads a file of models (docs/energy-models.md). An error is one
// line that says where in the file it is, as in "radios.lte.tail_ms: must not
// be negative".
func ParseModels(data []byte) (*Models, error) {
	if len(data) > MaxModelFile {
		return nil, fmt.Errorf("the file is larger than %d bytes", MaxModelFile)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	top, err := members(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the closing brace")
	}
	m := &Models{}
	for _, f := range top {
		switch f.name {
		case "device":
			m.Device, err = text(f.value)
		case "source":
			m.Source, err = text(f.value)
		case "full_load_mw":
			m.FullLoad, err = number(f.value, maxPower)
			m.FullLoad /= 1000
		case "radios":
			m.radios, err = parseRadios(f.value)
		case "tcp_microjoules":
			m.tcp, err = parseTCP(f.value)
		default:
			err = errors.New("no such field")
		}
		if err != nil {
			return nil, within(f.name, err)
		}
	}
	for i := range m.radios {
		if r := &m.radios[i].radio; r.Like != "" {
			r.Source = cmp.Or(m.Source, m.Device, "a file of models")
		}
	}
	return m, nil
}

// parseRadios reads the object of radios by name.
func parseRadios(data json.RawMessage) ([]entry, error) {
	fields, err := members(json.NewDecoder(bytes.NewReader(data)))
	if err != nil {
		return nil, err
	}
	if len(fields) > maxRadios {
		return nil, fmt.Errorf("more than %d radios", maxRadios)
	}
	byName := make(map[string]Radio, len(fields))
	for _, f := range fields {
		r, err := parseRadio(f.name, f.value)
		if err != nil {
			return nil, within(f.name, err)
		}
		byName[f.name] = r
	}
	radios := make([]entry, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		radios = append(radios, entry{name, byName[name]})
	}
	return radios, nil
}

// parseRadio reads one radio. Fields that are left out come from the built-in model that it is
// like, by default the one of its own name. A radio with nothing but like is that model, with
// its name and its source.
func parseRadio(name string, data json.RawMessage) (Radio, error) {
	if !goodName(name) {
		return Radio{}, fmt.Errorf("a name is 1 to %d letters, digits, -, . and _", maxName)
	}
	fields, err := members(json.NewDecoder(bytes.NewReader(data)))
	if err != nil {
		return Radio{}, err
	}
	model := name
	for _, f := range fields {
		if f.name == "like" {
			if model, err = text(f.value); err != nil {
				return Radio{}, within(f.name, err)
			}
		}
	}
	r, ok := Lookup(model)
	if !ok {
		return Radio{}, fmt.Errorf("no model %q is built in: say \"like\" one of %s", model, strings.Join(Names(), ", "))
	}
	if len(fields) > 1 || len(fields) == 1 && fields[0].name != "like" {
		r.Name, r.Like = name, model
	}
	holds := false
	for _, f := range fields {
		var err error
		switch f.name {
		case "like":
		case "down_mw_per_mbps":
			r.Down, err = number(f.value, maxSlope)
		case "up_mw_per_mbps":
			r.Up, err = number(f.value, maxSlope)
		case "active_mw":
			r.Active, err = number(f.value, maxPower)
		case "per_connection_mw":
			r.PerConn, err = number(f.value, maxPower)
		case "idle_mw":
			r.Idle, err = number(f.value, maxPower)
		case "promotion_mw":
			r.Promotion, err = number(f.value, maxPower)
		case "promotion_ms":
			r.PromotionTime, err = milliseconds(f.value)
		case "tail_mw":
			r.Tail, err = number(f.value, maxPower)
		case "tail_ms":
			r.TailTime, err = milliseconds(f.value)
		case "hold_ms":
			holds = true
			r.Hold, err = milliseconds(f.value)
		default:
			err = errors.New("no such field")
		}
		if err != nil {
			return Radio{}, within(f.name, err)
		}
	}
	if r.Hold > r.TailTime {
		if holds {
			return Radio{}, within("hold_ms", errors.New("is longer than the tail, of which it is the first part"))
		}
		r.Hold = r.TailTime
	}
	return r, nil
}

// parseTCP reads the cost of TCP's work. Fields that are left out are the iPAQ's.
func parseTCP(data json.RawMessage) (*TCPCost, error) {
	fields, err := members(json.NewDecoder(bytes.NewReader(data)))
	if err != nil {
		return nil, err
	}
	c := TCPCosts()[0]
	c.Name = "file"
	for _, f := range fields {
		var err error
		switch f.name {
		case "processing":
			c.Processing, err = number(f.value, maxMicrojoules)
		case "nic_copy":
			c.NICCopy, err = number(f.value, maxMicrojoules)
		case "user_copy":
			c.UserCopy, err = number(f.value, maxMicrojoules)
		case "timeout":
			c.Timeout, err = number(f.value, maxMicrojoules)
		case "triple_dup_ack":
			c.TripleDupACK, err = number(f.value, maxMicrojoules)
		case "ack":
			c.Acknowledging, err = number(f.value, maxMicrojoules)
		default:
			err = errors.New("no such field")
		}
		if err != nil {
			return nil, within(f.name, err)
		}
	}
	return &c, nil
}
