package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// String writes the link as ParseLink reads it, except for a trace, whose
// file is not known any more.
func (l Link) String() string {
	var b strings.Builder
	b.WriteString(l.Name)
	for _, f := range l.fields() {
		v := f.value()
		switch {
		case f.key == "perconn" && l.Power != "":
			b.WriteString(",power=" + l.Power)
		case f.key == "ramp0" && l.Ramp == 0 && l.Ramp0 == DefaultRamp0:
			v = 0
		}
		if v != 0 || f.key == "down" || f.key == "rtt" {
			b.WriteString("," + f.key + "=" + strconv.FormatFloat(v, 'f', -1, 64))
		}
	}
	return b.String()
}

// Digest is a hash of what a scenario plays, in hexadecimal: of all but its name and
// what it says about itself.
func (s Scenario) Digest() string {
	h := sha256.New()
	for _, l := range s.Links {
		_, _ = fmt.Fprintf(h, "link %s\n", l) // a hash takes everything
		if l.Trace != nil {
			_, _ = fmt.Fprintf(h, "trace %d\n", l.Trace.perMs)
		}
	}
	for _, e := range s.Events {
		_, _ = fmt.Fprintf(h, "at %v %s\n", e.At, e)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// kindNames are how the kinds of event are written.
func kindNames() []string {
	return []string{
		Down: "down", Up: "up", Rate: "rate", Loss: "loss", RTT: "rtt", CarrierOff: "carrier off", CarrierOn: "carrier on", Gone: "gone", Back: "back",
	}
}

// takesValue says whether an event of the kind has a Value.
func (k Kind) takesValue() bool { return k == Rate || k == Loss || k == RTT }

// String writes the event as ParseEvent reads it, without its time.
func (e Event) String() string {
	text := e.Link + " " + kindNames()[e.Kind]
	if e.Kind.takesValue() {
		text += " " + strconv.FormatFloat(e.Value, 'f', -1, 64)
	}
	return text
}
