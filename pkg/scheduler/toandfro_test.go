package scheduler

import "testing"

// TestTwoLinksDoNotTakeOneRequestToAndFro: both have a connection that is idle, and each takes
// itself to be sooner with a request of the other that was not answered, and that is not to be
// shared as its bytes are to be compared. The steps are those of a history that the adversary
// found, in which an honest server showed a strong and a weak entity tag by turns.
func TestTwoLinksDoNotTakeOneRequestToAndFro(t *testing.T) {
	const ms = Millisecond
	r := newRig(t, Config{Links: 2, Policy: &algorithm3{padding: 0.3}, Size: -1, Parallelism: 2})
	var acts []Action
	for _, x := range []struct {
		at Time
		in Input
	}{
		{0, Input{Kind: LinkUp}},
		{0, Input{Kind: LinkUp, Link: 1}},
		{0, Input{Kind: Tick}},
		{25000000, Input{Kind: Progress, RTT: 20 * ms, Handshake: 20 * ms, Shook: 20 * ms}},
		{25000000, Input{Kind: Progress, Link: 1, Chunk: 1, RTT: 22 * ms, Handshake: 22 * ms, Shook: 22 * ms}},
		{25000000, Input{Kind: Tick}},
		{40591077, Input{Kind: Progress, RTT: 20 * ms, Answered: true}},
		{40591077, Input{Kind: Sized, Bytes: 1326024}},
		{40591077, Input{Kind: Tick}},
		{50591077, Input{Kind: Tick}},
		{60591077, Input{Kind: Progress, Bytes: 8192, Handshake: 20 * ms, Shook: 20 * ms}},
		{60591077, Input{Kind: Tick}},
		{70591077, Input{Kind: Progress, Link: 1, Chunk: 1, Handshake: 22 * ms, Shook: 22 * ms}},
		{70591077, Input{Kind: Tick}},
		{80591077, Input{Kind: Progress, Bytes: 16384, Handshake: 20 * ms}},
		{80591077, Input{Kind: Tick}},
		{89668442, Input{Kind: Progress, Link: 1, Chunk: 1, RTT: 22 * ms, Answered: true}},
		{89668442, Input{Kind: Tick}},
		{89668442, Input{Kind: Tick}},
		{100668442, Input{Kind: Progress, Bytes: 24576, Handshake: 20 * ms}},
		{100668442, Input{Kind: Tick}},
		{111668442, Input{Kind: Progress, Link: 1, Chunk: 1, Handshake: 22 * ms, Shook: 22 * ms}},
		{111668442, Input{Kind: Tick}},
		{122668442, Input{Kind: Progress, Bytes: 32768, Handshake: 20 * ms}},
		{122668442, Input{Kind: Progress, Link: 1, Chunk: 1, Bytes: 8192, Handshake: 22 * ms}},
		{122668442, Input{Kind: Tick}},
		{133668442, Input{Kind: Tick}},
		{144668442, Input{Kind: Progress, Bytes: 40960, Handshake: 20 * ms}},
		{144668442, Input{Kind: Progress, Link: 1, Chunk: 1, Bytes: 16384, Handshake: 22 * ms}},
		{144668442, Input{Kind: Tick}},
		{155668442, Input{Kind: Tick}},
		{180668442, Input{Kind: Progress, Bytes: 57344, Handshake: 20 * ms}},
		{180668442, Input{Kind: Progress, Link: 1, Chunk: 1, Bytes: 24576, Handshake: 22 * ms}},
		{180668442, Input{Kind: Tick}},
		{196787965, Input{Kind: Finished, Bytes: 65536}},
		{196787965, Input{Kind: Progress, Link: 1, Chunk: 1, Bytes: 32768, Handshake: 22 * ms}},
		{196787965, Input{Kind: Tick}},
		{197147854, Input{Kind: Progress, Chunk: 2, RTT: 20 * ms, Answered: true}},
		{197147854, Input{Kind: Tick}},
		{197147854, Input{Kind: Compared, Bytes: 16384}},
		{197147854, Input{Kind: Failed, Chunk: 2}},
		{197147854, Input{Kind: Tick}},
		{217029971, Input{Kind: Progress, Chunk: 3, RTT: 20 * ms, Answered: true}},
		{217029971, Input{Kind: Tick}},
		{242029971, Input{Kind: Progress, Link: 1, Chunk: 1, Bytes: 40960, Handshake: 22 * ms}},
		{242029971, Input{Kind: Progress, Chunk: 3, Bytes: 8192, Handshake: 20 * ms, Shook: 20 * ms}},
		{242029971, Input{Kind: Tick}},
		{267029971, Input{Kind: Progress, Link: 1, Chunk: 1, Bytes: 49152, Handshake: 22 * ms}},
		{267029971, Input{Kind: Progress, Chunk: 3, Bytes: 16384, Handshake: 20 * ms}},
		{267029971, Input{Kind: Tick}},
		{292029971, Input{Kind: Progress, Link: 1, Chunk: 1, Bytes: 57344, Handshake: 22 * ms}},
		{292029971, Input{Kind: Progress, Chunk: 3, Bytes: 24576, Handshake: 20 * ms}},
		{292029971, Input{Kind: Tick}},
		{296366178, Input{Kind: Finished, Link: 1, Chunk: 1, Bytes: 65536}},
		{296366178, Input{Kind: Progress, Chunk: 3, Bytes: 32768, Handshake: 20 * ms}},
		{296366178, Input{Kind: Tick}},
		{296984353, Input{Kind: Progress, Link: 1, Chunk: 4, RTT: 22 * ms, Answered: true}},
		{296984353, Input{Kind: Tick}},
		{321984353, Input{Kind: Progress, Chunk: 3, Bytes: 40960, Handshake: 20 * ms}},
		{321984353, Input{Kind: Tick}},
		{346984353, Input{Kind: Progress, Chunk: 3, Bytes: 49152, Handshake: 20 * ms}},
		{346984353, Input{Kind: Progress, Link: 1, Chunk: 4, Bytes: 8192, Handshake: 22 * ms}},
		{346984353, Input{Kind: Tick}},
		{371984353, Input{Kind: Progress, Chunk: 3, Bytes: 57344, Handshake: 20 * ms}},
		{371984353, Input{Kind: Progress, Link: 1, Chunk: 4, Bytes: 16384, Handshake: 22 * ms}},
		{371984353, Input{Kind: Tick}},
		{373226859, Input{Kind: Finished, Chunk: 3, Bytes: 65536}},
	} {
		r.now = x.at
		acts = r.step(x.in)
	}
	started := 0
	for range 100 {
		for _, a := range acts {
			if a.Kind == Start {
				started++
			}
		}
		acts = r.step(Input{Kind: Tick})
	}
	if started > 4 {
		t.Errorf("%d requests began at one instant", started)
	}
	checkTiles(t, r.core)
}
