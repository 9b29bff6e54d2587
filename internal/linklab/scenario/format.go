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
	add := func(key string, v float64) {
		b.WriteString("," + key + "=" + strconv.FormatFloat(v, 'f', -1, 64))
	}
	add("down", l.DownMbps)
	if l.UpMbps != 0 {
		add("up", l.UpMbps)
	}
	add("rtt", ms(l.RTT))
	if l.Queue != 0 {
		add("queue", ms(l.Queue))
	}
	if l.LossPercent != 0 {
		add("loss", l.LossPercent)
	}
	if l.Ramp != 0 {
		add("ramp", l.Ramp.Seconds())
	}
	if l.Ramp0 != 0 && (l.Ramp != 0 || l.Ramp0 != DefaultRamp0) {
		add("ramp0", l.Ramp0)
	}
	if l.Vary != 0 {
		add("vary", l.Vary)
	}
	if l.Power != "" {
		b.WriteString(",power=" + l.Power)
	}
	if l.PerConnection != 0 {
		add("perconn", l.PerConnection)
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

// String writes the event as ParseEvent reads it, without its time.
func (e Event) String() string {
	v := strconv.FormatFloat(e.Value, 'f', -1, 64)
	switch e.Kind {
	case Down:
		return e.Link + " down"
	case Up:
		return e.Link + " up"
	case Rate:
		return e.Link + " rate " + v
	case Loss:
		return e.Link + " loss " + v
	case RTT:
		return e.Link + " rtt " + v
	case CarrierOff:
		return e.Link + " carrier off"
	case CarrierOn:
		return e.Link + " carrier on"
	case Gone:
		return e.Link + " gone"
	case Back:
		return e.Link + " back"
	}
	return fmt.Sprintf("%s unknown event %d", e.Link, e.Kind)
}
