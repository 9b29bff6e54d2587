package emu

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"
)

func TestOpening(t *testing.T) {
	tcp4 := func(header byte, flags byte) []byte {
		b := make([]byte, int(header&15)*4+20)
		b[0], b[9], b[int(header&15)*4+13] = header, 6, flags
		return b
	}
	six := make([]byte, 60)
	six[0], six[6], six[53] = 0x60, 6, 0x02
	udp := tcp4(0x45, 0x02)
	udp[9] = 17
	for name, tc := range map[string]struct {
		packet []byte
		want   bool
	}{
		"SYN":                {tcp4(0x45, 0x02), true},
		"SYN with ECN":       {tcp4(0x45, 0xc2), true},
		"SYN and ACK":        {tcp4(0x45, 0x12), false},
		"ACK":                {tcp4(0x45, 0x10), false},
		"with IP options":    {tcp4(0x46, 0x02), true},
		"over IPv6":          {six, true},
		"UDP":                {udp, false},
		"a header too short": {append([]byte{0x41}, tcp4(0x45, 0x02)[1:]...), false},
		"cut":                {tcp4(0x45, 0x02)[:39], false},
		"cut with options":   {tcp4(0x4f, 0x02)[:60], false},
	} {
		if got := opening(tc.packet); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// segment is a TCP packet without payload between the client of the first link
// and the server.
func segment(fromClient bool, clientPort uint16, flags byte) []byte {
	src, dst, from, to := clientAddr(0), serverAddr, clientPort, uint16(80)
	if !fromClient {
		src, dst, from, to = dst, src, to, from
	}
	b := makePacket(src, dst, 40, 0)
	b[9] = 6
	binary.BigEndian.PutUint16(b[20:], from)
	binary.BigEndian.PutUint16(b[22:], to)
	b[33] = flags
	return b
}

// A connection costs from its SYN to its first FIN or RST, and no longer, nor while
// it is silent, and only where the link says so.
func TestConnectionsCost(t *testing.T) {
	const step = 50 * time.Millisecond // less than a radio's Hold
	spent := map[string]float64{}
	for _, keys := range []string{"power=wifi", "power=wifi,perconn=100"} {
		synctest.Test(t, func(t *testing.T) {
			l := startLab(t, "link a,down=1000,up=1000,"+keys)
			for _, s := range []struct {
				fromClient bool
				port       uint16
				flags      byte
			}{
				{true, 1, ack},
				{true, 1, ack},
				{true, 1, ack}, // the radio is awake from here on
				{true, 1000, syn},
				{false, 1000, syn | ack}, // one, for two steps
				{true, 1001, syn},        // two
				{true, 1000, ack},        // two
				{false, 1000, fin | ack}, // one
				{true, 1000, fin | ack},  // one: it has been counted out
				{false, 1001, rst},       // none
				{true, 1002, ack},        // none
				{true, 1003, fin},        // none: it never was
				{true, 1004, syn},        // one, until long after its last packet
			} {
				port := l.client[0]
				if !s.fromClient {
					port = l.server[0]
				}
				port.in <- segment(s.fromClient, s.port, s.flags)
				time.Sleep(step)
			}
			for range 40 { // something crosses all the time, so that the radio stays awake
				l.client[0].in <- segment(true, 1, ack)
				time.Sleep(step)
			}
			l.client[0].in <- segment(true, 1004, ack) // it is at work again, for one step
			time.Sleep(step)
			_, radios := l.Radios()
			spent[keys] = radios[0].Machine.Energy().Total()
			if l.Stats()[0].Up.Opens != 3 || l.Stats()[0].Down.Opens != 0 {
				t.Errorf("%+v", l.Stats()[0])
			}
		})
	}
	// The silent one is counted out when it has been for a second, or one count later.
	least := 0.1 * ((2*1+2*2+2*1+1)*step + silence).Seconds()
	got := spent["power=wifi,perconn=100"] - spent["power=wifi"]
	if got < least-1e-9 || got > least+0.1*(countEvery+step).Seconds() {
		t.Errorf("connections cost %v J, want %v or little more", got, least)
	}
}
