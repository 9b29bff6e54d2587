package emu

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

func TestImpairments(t *testing.T) {
	const packets = 200
	for _, c := range []struct {
		name string
		bad  Impairment
		want func(up, down []arrival) bool
	}{
		{"none", Impairment{}, func(up, down []arrival) bool { return len(up) == packets && len(down) == packets }},
		{"MTU", Impairment{MTU: 1200}, func(up, down []arrival) bool { return len(up) == packets && len(down) == 0 }},
		{"twice", Impairment{Duplicate: 1}, func(up, down []arrival) bool { return len(up) == 2*packets && len(down) == 2*packets }},
		{"late", Impairment{Reorder: 0.1}, func(up, down []arrival) bool {
			late := func(a []arrival) bool {
				return len(a) == packets && !slices.IsSortedFunc(a, func(x, y arrival) int { return int(x.id) - int(y.id) })
			}
			return late(up) && late(down)
		}},
		{"deaf", Impairment{LoseToward: Client}, func(up, down []arrival) bool { return len(up) == packets && len(down) == 0 }},
		{"half of what goes up", Impairment{LoseUp: 0.5}, func(up, down []arrival) bool {
			return len(up) > packets/4 && len(up) < packets*3/4 && len(down) == packets
		}},
		{"unreachable", Impairment{Unreachable: 1}, func(up, down []arrival) bool {
			refusals := slices.DeleteFunc(down, func(a arrival) bool { return a.n == 1500 })
			return len(up) == 0 && len(refusals) == packets
		}},
		{"no new connections", Impairment{LoseNew: true}, func(up, down []arrival) bool { return len(up) == packets && len(down) == packets }},
		{"dumb", Impairment{LoseToward: Server}, func(up, down []arrival) bool { return len(up) == 0 && len(down) == packets }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := startLab(t, "link a,down=100,up=100,rtt=20,queue=10000")
				if err := l.Impair("a", c.bad); err != nil {
					t.Fatal(err)
				}
				for i := range packets {
					l.up(100, byte(i))
					l.down(1500, byte(i))
				}
				l.at(10 * time.Second)
				if up, down := l.server[0].arrivals(), l.client[0].arrivals(); !c.want(up, down) {
					t.Errorf("%d came up, %d down", len(up), len(down))
				}
			})
		})
	}
	if err := (&Emulator{sc: scenario.Scenario{}}).Impair("b", Impairment{}); err == nil {
		t.Error("a link that there is not was impaired")
	}
}

// checksum is the one of the internet, over a packet's bytes as they are.
func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	for sum>>16 > 0 {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}

func TestScrambledBytesKeepTheirSum(t *testing.T) {
	for _, c := range []struct {
		n        int
		protocol byte
		want     bool
	}{{1500, 6, true}, {900, 6, false}, {1500, 17, false}} {
		b := makePacket(clientAddr(0), serverAddr, c.n, 1)
		b[9] = c.protocol
		for i := 20; i < len(b); i++ {
			b[i] = byte(i * i)
		}
		b[400], b[640] = 7, 9
		before := bytes.Clone(b)
		scramble(b)
		if changed := !bytes.Equal(before, b); changed != c.want || checksum(before) != checksum(b) {
			t.Errorf("%d bytes of protocol %d: changed %v, sums %x and %x", c.n, c.protocol, changed, checksum(before), checksum(b))
		}
	}
}
