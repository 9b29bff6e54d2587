package proxy

import (
	"net"
	"time"
)

const (
	// maxSuspects is how many tunnels of a silent link are asked.
	maxSuspects = 4
	// deadAfter is how long a link may be silent, questions included, before its tunnels
	// end: three samples, so that they end within two seconds of the link's last packet.
	deadAfter = 3 * sampleTime
	// deadTrips is how many round trips it may be silent at least.
	deadTrips = 3
	// deadFailures is how many failures a silence counts for: a minute passes until the link
	// is thought of as before.
	deadFailures = 8
)

// silence watches for a link over which nothing comes any more, though nobody has said that
// it is down: the access point has lost its uplink, the phone is in a tunnel. Tunnels that
// carried something until then are asked by the kernel's keep-alives, which costs a packet and
// no connection; a server that merely has nothing to say acknowledges them. The zero value
// suspects nothing.
type silence struct {
	suspects []*tunnel
	lasted   time.Duration
}

// heard takes in which tunnels something came through during a sample.
func (s *silence) heard(carrying []*tunnel) {
	s.calm()
	s.suspects = append(s.suspects, carrying[:min(len(carrying), maxSuspects)]...)
}

// quiet takes in that nothing came, and says whether the link is dead. rtt is its round trip.
func (s *silence) quiet(since, rtt time.Duration, alive map[*tunnel]struct{}) (dead bool) {
	s.lasted += since
	asked := 0
	for _, t := range s.suspects {
		if _, there := alive[t]; !there || len(t.ends) == 0 {
			continue
		}
		ago, ok := lastWord(t.ends[0])
		if !ok || ago < s.lasted-since { // before the silence is not after it
			s.calm()
			return false
		}
		ask(t.ends[0])
		asked++
	}
	return asked > 0 && s.lasted >= max(deadAfter, deadTrips*rtt)
}

// calm ends the suspicion.
func (s *silence) calm() {
	if s.lasted > 0 {
		for _, t := range s.suspects {
			if len(t.ends) > 0 {
				askSeldom(t.ends[0])
			}
		}
	}
	s.suspects, s.lasted = s.suspects[:0], 0
}

// The keep-alives of a connection that nobody suspects: link.Link's.
const keepAliveIdle = 30 * time.Second

// ask makes the kernel ask the peer whether it is there as soon as it has been silent for a
// second, which is the least.
func ask(c *net.TCPConn) {
	_ = c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: -1, Count: -1})
}

func askSeldom(c *net.TCPConn) {
	_ = c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: keepAliveIdle, Interval: -1, Count: -1})
}
