package scheduler

import (
	"encoding/binary"
	"slices"
	"testing"
)

// FuzzCore gives a Core arbitrary inputs and checks after each that received,
// free and asked-for bytes tile the object.
func FuzzCore(f *testing.F) {
	f.Add(uint8(4), int64(1<<24), []byte("\x00\x00\x01\x00\x00\x00\x08\x00\x08\x08\x02\x00\x00\x10\x00\x03\x01\x00\x00\x01\x08\x04\x00\x00\x00\x40"))
	f.Add(uint8(3), int64(-1), []byte("\x00\x01\x00\x00\x00\x08\x01\x05\x00\x00\x00\x10\x02\x00\x10\x00\x00\x05\x03\x07\x06\x05\x04\x03"))
	f.Fuzz(func(t *testing.T, which uint8, size int64, data []byte) {
		p, err := NewPolicy(Names()[int(which)%len(Names())], 4<<20, 0.3)
		if err != nil {
			t.Fatal(err)
		}
		cfg := Config{Links: 3, Policy: p, Size: max(-1, size&(1<<40-1)), NoSteal: which&64 != 0}
		if size < 0 {
			cfg.Size = -1
		}
		if which&128 != 0 {
			cfg.Window = 1 << 20
		}
		if cfg.Energy = EnergyMode(which >> 4 % 4 % 3); which&8 != 0 {
			cfg.Deadline = 10 * Second
		}
		c, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		now, completions := Time(0), 0
		for len(data) >= 6 {
			in := Input{
				Kind: InputKind(data[0] % 17), Link: LinkID(int8(data[1])), Chunk: ChunkID(int8(data[1])),
				Bytes: int64(int32(binary.LittleEndian.Uint32(data[2:]))) << (data[0] >> 4), RTT: Time(data[2]) * Millisecond, Wait: Time(data[3]) * Millisecond,
			}
			if b := data[4]; in.Kind == LinkUp && b != 0 {
				in.Terms = Terms{
					Cap: int64(b&3) << 18, Backup: b&4 != 0, Costly: b&8 != 0, Usual: float64(b) * 1e5,
					Radio: Radio{ActiveMW: float64(b & 0xf0), MWPerMbps: float64(data[2]), TailMJ: float64(b) * 50, TailTime: Time(data[3]) * Second / 20},
				}
			}
			now += Time(data[5]) * Millisecond
			data = data[6:]
			for _, a := range c.Step(now, in, nil) {
				if a.Kind == Complete {
					completions++
				}
			}
			checkTiles(t, c)
		}
		if completions > 1 {
			t.Fatalf("%d completions", completions)
		}
	})
}

func checkTiles(t *testing.T, c *Core) {
	t.Helper()
	all := c.freeMap.missing(Range{End: c.freeMap.end}, nil)
	pending := make([]int64, len(c.links))
	for _, ch := range c.flight.chunks {
		if ch.got < 0 || ch.left() < 0 {
			t.Fatalf("chunk %d got %d of %v", ch.id, ch.got, ch.rng)
		}
		if ch.copy { // of bytes that its duplicate owes
			if i := c.flight.find(ch.duplicate); i < 0 || c.flight.chunks[i].copy || c.flight.chunks[i].rng.End != ch.rng.End {
				t.Fatalf("chunk %d is a copy of nothing", ch.id)
			}
			continue
		}
		pending[ch.link] += ch.left()
		if ch.left() > 0 {
			all = append(all, Range{ch.rng.Off + ch.got, ch.rng.End})
		}
	}
	for i, p := range pending {
		if p != c.links[i].load.pending {
			t.Fatalf("link %d has %d bytes pending, its chunks %d", i, c.links[i].load.pending, p)
		}
	}
	owed := c.freeMap.bytes()
	for _, p := range pending {
		owed += p
	}
	if f := c.freeMap.files[0]; f.owed != owed || int(f.chunks) != len(c.flight.chunks) {
		t.Fatalf("%d bytes are missing, %d requests under way, but %+v", owed, len(c.flight.chunks), f)
	}
	all = c.Done(all)
	slices.SortFunc(all, func(a, b Range) int {
		if a.Off < b.Off {
			return -1
		}
		return 1
	})
	at := int64(0)
	for _, r := range all {
		if r.Off != at || r.Empty() {
			t.Fatalf("%v follows %d in %v", r, at, all)
		}
		at = r.End
	}
	if at != c.freeMap.end {
		t.Fatalf("the ranges end at %d of %d", at, c.freeMap.end)
	}
}
