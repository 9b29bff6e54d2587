package scheduler

import (
	"encoding/json"
	"slices"
	"testing"
)

// batchRig is a rig for a batch with one link per element of rtts, all up, and
// measured to carry 1 MB/s.
func batchRig(t *testing.T, rtts ...Time) *rig {
	t.Helper()
	r := newRig(t, Config{Links: len(rtts), Policy: &algorithm3{padding: AutoPadding}, Batch: true})
	for id, rtt := range rtts {
		r.step(Input{Kind: LinkUp, Link: LinkID(id), RTT: rtt})
	}
	return r
}

// known makes the first link's rate known.
func (r *rig) known(rate float64) {
	l := &r.core.links[0]
	l.est.rate, l.est.nSamples, l.load.asked = rate, 1, true
}

func (r *rig) add(file int32, off, end int64, guess bool) {
	r.step(Input{Kind: Added, Piece: Piece{Range: Range{off, end}, File: file, Guess: guess}})
}

func (r *rig) expect(bytes int64) { r.step(Input{Kind: Expected, Bytes: bytes}) }

func (r *rig) tick() []Action { return r.step(Input{Kind: Tick}) }

// starts are the ranges asked for in the last step.
func (r *rig) starts() (out []Range) {
	for _, a := range r.acts {
		if a.Kind == Start {
			out = append(out, a.Range)
		}
	}
	return out
}

func TestABatchWithoutFilesIsComplete(t *testing.T) {
	r := batchRig(t, 20*Millisecond)
	r.tick()
	r.want()
	r.expect(0)
	r.want(Complete)
}

func TestWhatIsToldOfABatchIsSeenTogether(t *testing.T) {
	r := batchRig(t, 20*Millisecond, 20*Millisecond)
	r.expect(0)
	if len(r.acts) != 1 || r.acts[0].Kind != Complete {
		t.Fatalf("%+v", r.acts)
	}
	r = batchRig(t, 20*Millisecond, 20*Millisecond)
	r.add(0, 0, 100_000, false)
	r.want()
	r.add(1, 100_000, 200_000, false)
	r.want()
	if wake := r.core.NextWake(); wake != r.now {
		t.Errorf("it wants to be woken at %v", wake)
	}
	r.expect(0)
	r.tick()
	if got := r.starts(); !slices.Equal(got, []Range{{0, 100_000}, {100_000, 200_000}}) || r.acts[0].Link == r.acts[1].Link {
		t.Fatalf("%+v", r.acts)
	}
}

// A file whose size is not known is asked for as a whole; what does not exist of it
// is voided, and what is beyond the guess comes before other files.
func TestAGuessIsAskedForAsAWholeAndCorrected(t *testing.T) {
	const mib = 1 << 20
	r := batchRig(t, 20*Millisecond)
	r.known(10e6)
	c := r.core
	r.expect(1 << 30)
	c.freeMap.guesses.learn(mib, 100_000) // what files are like
	for f := range int64(30) {
		r.add(int32(f), f*mib, (f+1)*mib, true)
	}
	if free := c.Free(); free != 30*100_000 {
		t.Errorf("%d bytes are free", free)
	}
	r.tick()
	for i, s := range r.starts() {
		if s != (Range{int64(i) * mib, int64(i+1) * mib}) {
			t.Fatalf("%+v", r.acts)
		}
	}
	r.step(Input{Kind: Voided, Piece: Piece{Range: Range{5000, mib}}})
	r.want(Shrink)
	if r.acts[0].Range != (Range{0, 5000}) {
		t.Fatalf("%+v", r.acts)
	}
	r.add(1, 30*mib, 40*mib, false) // file 1 is larger
	r.step(Input{Kind: Voided, Piece: Piece{Range: Range{2 * mib, 3 * mib}}})
	r.want(Cancel) // file 2 is empty
	r.now += 40 * Millisecond
	var next []Range
	for len(next) == 0 {
		r.step(Input{Kind: Finished, Chunk: c.flight.chunks[0].id, Bytes: 1 << 30})
		r.want() // what ends with it may not have been told of
		r.tick()
		next = r.starts()
	}
	if next[0].Off != 30*mib {
		t.Errorf("the rest of file 1 does not come next, but %v", next)
	}
}

// At the end of a job a large file of unknown size is asked for in part, and nobody
// is asked for the rest before it is known.
func TestTheRestOfAGuessWaitsForItsSize(t *testing.T) {
	const mib = 1 << 20
	r := batchRig(t, 300*Millisecond)
	r.known(1e6)
	r.core.freeMap.guesses.learn(mib, mib)
	r.add(0, 0, mib, true)
	r.expect(0)
	r.tick()
	got := r.starts()
	if len(got) != 1 || got[0].Off != 0 || got[0].End >= mib {
		t.Fatalf("%+v", r.acts)
	}
	r.now += 300 * Millisecond
	r.tick()
	r.want()
	r.step(Input{Kind: Voided, Piece: Piece{Range: Range{900_000, mib}}})
	r.want()
	r.tick()
	rest := r.starts()
	if len(rest) == 0 || rest[0].Off != got[0].End || rest[len(rest)-1].End > 900_000 {
		t.Fatalf("%+v", r.acts)
	}
}

// TestAVoidWithdrawsACopyThatReachesBeyond the bytes that are still wanted: the original brings the
// rest of them.
func TestAVoidWithdrawsACopyThatReachesBeyond(t *testing.T) {
	r := batchRig(t, 20*Millisecond, 20*Millisecond)
	r.add(0, 0, 60_000, false)
	r.expect(1000)
	r.tick()
	c := r.core
	r.step(Input{Kind: Progress, Chunk: 0, Bytes: 10_000})
	c.flight.duplicate(1, 0, &c.flight.chunks[0], nil)
	r.step(Input{Kind: Progress, Chunk: 0, Bytes: 20_000})
	r.step(Input{Kind: Progress, Chunk: 1, Bytes: 35_000}) // up to 45,000
	r.step(Input{Kind: Voided, Piece: Piece{Range: Range{40_000, 60_000}}})
	r.want(Cancel, Shrink)
	if a, b := r.acts[0], r.acts[1]; a.Chunk != 1 || !a.Range.Empty() || b.Chunk != 0 || b.Range != (Range{0, 40_000}) {
		t.Errorf("%+v", r.acts)
	}
	if n := c.Left(); n != 20_000+1000 {
		t.Errorf("%d bytes are left", n)
	}
	r.step(Input{Kind: Finished, Chunk: 0, Bytes: 40_000})
	r.expect(0)
	r.want(Complete)
}

func TestAVoidInTheMiddleOfARequest(t *testing.T) {
	r := batchRig(t, 20*Millisecond)
	r.add(0, 0, 60_000, false)
	r.expect(1000)
	r.tick()
	c := r.core
	r.step(Input{Kind: Progress, Chunk: 0, Bytes: 10_000})
	c.flight.duplicate(0, 1, &c.flight.chunks[0], nil)
	r.step(Input{Kind: Voided, Piece: Piece{Range: Range{20_000, 30_000}}})
	r.want(Cancel, Shrink)
	if got := c.Missing(Range{0, 1 << 30}, nil); !slices.Equal(got, []Range{{10_000, 20_000}, {30_000, 60_000}}) {
		t.Errorf("missing are %v", got)
	}
}

// One file at a time: no request for the next one before the last byte.
func TestOneFileAtATime(t *testing.T) {
	r := batchRig(t, 20*Millisecond)
	r.known(1e6)
	plan := Plan{Files: 1}
	plan.Classes[0] = Share{Connections: 1, Pipelining: 1}
	r.step(Input{Kind: Planned, Plan: &plan})
	for f := range int64(3) {
		r.add(int32(f), f*100_000, (f+1)*100_000, false)
	}
	r.expect(0)
	for f := range int64(3) {
		r.tick()
		if got := r.starts(); !slices.Equal(got, []Range{{f * 100_000, (f + 1) * 100_000}}) {
			t.Fatalf("file %d: %+v", f, r.acts)
		}
		r.now += 50 * Millisecond
		r.step(Input{Kind: Progress, Chunk: ChunkID(f), Bytes: 99_999})
		r.tick()
		r.want()
		r.step(Input{Kind: Finished, Chunk: ChunkID(f), Bytes: 100_000})
	}
	r.want(Complete)
}

// Two connections of the link share a file, others take other files; a connection
// whose class has nothing left serves another.
func TestAPlanSharesOutConnections(t *testing.T) {
	r := batchRig(t, 20*Millisecond)
	r.known(10e6)
	var plan Plan
	plan.Classes[0] = Share{Connections: 1}
	plan.Classes[2] = Share{Connections: 4, Parallelism: 2, Pipelining: 1}
	r.step(Input{Kind: Planned, Plan: &plan})
	for f := range int64(3) {
		r.step(Input{Kind: Added, Piece: Piece{Range: Range{f * 50e6, (f + 1) * 50e6}, File: int32(f), Class: 2}})
	}
	r.step(Input{Kind: Added, Piece: Piece{Range: Range{150e6, 150e6 + 1000}, File: 3}})
	r.expect(1 << 40)
	r.tick()
	at := map[int64][]StreamID{}
	for _, a := range r.acts {
		file := a.Range.Off / 50e6
		if !slices.Contains(at[file], a.Stream) {
			at[file] = append(at[file], a.Stream)
		}
	}
	if !slices.Equal(at[3], []StreamID{0}) || len(at[0]) < 2 || len(at[1]) != 2 {
		t.Errorf("connections by file: %v", at)
	}
	for file, streams := range at {
		if n := len(streams); file != 3 && n > 2 {
			t.Errorf("%d connections are at file %d", n, file)
		}
	}
	plan = Plan{}
	plan.Classes[2] = Share{Connections: 1}
	r.step(Input{Kind: Planned, Plan: &plan})
	for len(r.core.flight.chunks) > 0 {
		ch := r.core.flight.chunks[0]
		r.now += 50 * Millisecond
		r.step(Input{Kind: Finished, Chunk: ch.id, Bytes: 1 << 30})
		for _, a := range r.tick() {
			if a.Kind == Start && a.Stream > 0 {
				t.Fatalf("connection %d, over the number, gets more: %+v", a.Stream, a)
			}
		}
		if ch.stream == 0 {
			break
		}
	}
}

func TestABatchIsRecordedAndReplayed(t *testing.T) {
	cfg := Config{Links: 1, Policy: &algorithm3{padding: AutoPadding}, Batch: true}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	plan := Plan{Files: 2}
	plan.Classes[1] = Share{Connections: 3, Parallelism: 2, Pipelining: 4}
	var steps []Recorded
	for i, in := range []Input{
		{Kind: LinkUp, RTT: 20 * Millisecond},
		{Kind: Planned, Plan: &plan},
		{Kind: Added, Piece: Piece{Range: Range{10, 100_000}, File: 7, Class: 1, Guess: true}},
		{Kind: Expected, Bytes: 0},
		{Kind: Tick},
		{Kind: Voided, Piece: Piece{Range: Range{50_000, 100_000}}},
		{Kind: Finished, Bytes: 49_990},
	} {
		at := Time(i) * Millisecond
		steps = append(steps, Recorded{At: at, Input: in, Actions: c.Step(at, in, nil)})
	}
	if last := steps[len(steps)-1].Actions; len(last) != 1 || last[0].Kind != Complete {
		t.Fatalf("%+v", last)
	}
	text, err := json.Marshal(steps)
	if err != nil {
		t.Fatal(err)
	}
	var back []Recorded
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	cfg.Policy = &algorithm3{padding: AutoPadding}
	if err := Replay(cfg, back); err != nil {
		t.Error(err)
	}
}

// TestAPlanOutlivesTheNetwork: a link that moves to another one keeps to the connections that were
// planned, for who planned them does not hear of it.
func TestAPlanOutlivesTheNetwork(t *testing.T) {
	r := batchRig(t, 50*Millisecond)
	r.known(10e6)
	r.step(Input{Kind: Planned, Link: 0, Plan: &Plan{Classes: [3]Share{{Connections: 1, Parallelism: 1}}}})
	for f := range int64(40) {
		r.add(int32(f), f*1e6, (f+1)*1e6, false)
	}
	r.expect(0)
	r.tick()
	r.now = Second
	r.step(Input{Kind: LinkDown, Link: 0})
	r.step(Input{Kind: LinkUp, Link: 0, RTT: 50 * Millisecond})
	r.tick()
	for _, a := range r.acts {
		if a.Kind == Start && a.Stream > 0 {
			t.Errorf("%+v", a)
		}
	}
	if n := r.core.Link(0).Streams; n != 1 {
		t.Errorf("%d connections, not 1", n)
	}
}
