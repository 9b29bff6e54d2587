package schedtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

// ConformBatch is Conform for jobs of many files: nothing may be asked for across
// the end of a piece, or after it was voided, and every byte of every file that was
// not given up must have come, once, when the job is said to be complete.
func ConformBatch(t *testing.T, newPolicy func() scheduler.Policy, histories int) {
	t.Helper()
	for seed := range uint64(histories) {
		h := RandomBatch(seed)
		cfg := h.Config
		cfg.Policy = newPolicy()
		if err := Play(h, cfg); err != nil {
			t.Fatalf("batch %d: %v", seed, err)
		}
	}
}

// File is a file of a batch's history.
type File struct {
	Size  int64 // bytes
	Guess int64 // bytes that its piece has while its size is not known; 0: it is known
	Class scheduler.Class
	// Missing: the first response says that there is no such file. GivenUp is when it
	// is given up; 0: never.
	Missing bool
	GivenUp scheduler.Time
}

// Planned is a plan that a link is told during a history.
type Planned struct {
	At   scheduler.Time
	Link scheduler.LinkID
	Plan scheduler.Plan
}

// RandomBatch gives the history of a seed: the links of Random, and files.
func RandomBatch(seed uint64) History {
	h := Random(seed)
	r := rand.New(rand.NewPCG(seed, 1500))
	c := &h.Config
	c.Batch, c.Size, c.Have, c.Window, c.Overlap = true, 0, nil, 0, 0
	if r.IntN(2) == 0 {
		c.Parallelism = 0
	}
	h.Size = 0
	scale := r.IntN(3)
	for range 1 + r.IntN(1<<(1+r.IntN(7))) {
		f := File{Size: r.Int64N(1 << (4 + 5*scale + r.IntN(8))), Class: scheduler.Class(r.IntN(scheduler.MaxClasses))}
		switch r.IntN(8) {
		case 0:
			f.Size = 0
		case 1:
			f.Missing = true
		case 2:
			f.GivenUp = scheduler.Time(1 + r.Int64N(int64(5*scheduler.Second)))
		}
		switch {
		case f.Size == 0, f.Missing, r.IntN(3) > 0:
			f.Guess = 1 << r.IntN(21)
		}
		h.Files = append(h.Files, f)
		h.Size += f.Size
	}
	for range r.IntN(5) {
		p := Planned{At: scheduler.Time(r.Int64N(int64(8 * scheduler.Second))), Link: scheduler.LinkID(r.IntN(c.Links))}
		if r.IntN(2) == 0 {
			p.Plan.Files = 1 + r.IntN(8)
		}
		for k := range p.Plan.Classes {
			if r.IntN(3) > 0 {
				p.Plan.Classes[k] = scheduler.Share{Connections: r.IntN(6), Parallelism: r.IntN(4), Pipelining: r.IntN(4)}
			}
		}
		h.Plans = append(h.Plans, p)
	}
	return h
}

// job is what the player knows of a batch.
type job struct {
	player *player
	files  []jobFile
	pieces []jobPiece // by address
	next   int        // the first file that was not added
	top    int64
	plans  []Planned
}

type jobFile struct {
	File
	known bool // its size, to the driver
	gone  bool
}

type jobPiece struct {
	rng  scheduler.Range
	file int
	from int64 // offset in the file of its first byte
}

func newJob(p *player) *job {
	j := &job{player: p, plans: slices.Clone(p.h.Plans)}
	for _, f := range p.h.Files {
		j.files = append(j.files, jobFile{File: f, known: f.Guess == 0})
	}
	return j
}

// tick adds files, tells plans, and gives files up.
func (j *job) tick() error {
	p := j.player
	if j.next == 0 {
		if err := j.expect(); err != nil {
			return err
		}
	}
	for added := 0; j.next < len(j.files) && (added == 0 && p.core.Free() < 4<<20 || added > 0 && added%8 > 0); added++ {
		f := &j.files[j.next]
		n := f.Size
		if !f.known {
			n = f.Guess
		}
		j.next++
		if err := j.add(j.next-1, 0, n); err != nil {
			return err
		}
		if err := j.expect(); err != nil {
			return err
		}
	}
	for i := range j.files {
		if f := &j.files[i]; !f.gone && f.GivenUp > 0 && p.now > f.GivenUp {
			if err := j.giveUp(i); err != nil {
				return err
			}
		}
	}
	for len(j.plans) > 0 && p.now >= j.plans[0].At {
		plan := j.plans[0]
		j.plans = j.plans[1:]
		if err := p.tell(scheduler.Input{Kind: scheduler.Planned, Link: plan.Link, Plan: &plan.Plan}); err != nil {
			return err
		}
	}
	return nil
}

// expect says how much is still to be added, more or less.
func (j *job) expect() error {
	return j.player.tell(scheduler.Input{Kind: scheduler.Expected, Bytes: int64(len(j.files)-j.next) * 100_000})
}

func (j *job) add(file int, from, bytes int64) error {
	if bytes == 0 || j.files[file].gone {
		return nil
	}
	rng := scheduler.Range{Off: j.top, End: j.top + bytes}
	j.top = rng.End
	j.pieces = append(j.pieces, jobPiece{rng, file, from})
	f := &j.files[file]
	return j.player.tell(scheduler.Input{Kind: scheduler.Added, Piece: scheduler.Piece{
		Range: rng, File: int32(file), Class: f.Class, Guess: !f.known,
	}})
}

func (j *job) void(r scheduler.Range) error {
	return j.player.tell(scheduler.Input{Kind: scheduler.Voided, Piece: scheduler.Piece{Range: r}})
}

// giveUp voids what a file has.
func (j *job) giveUp(file int) error {
	j.files[file].gone = true
	for _, pc := range j.pieces {
		if pc.file == file {
			if err := j.void(pc.rng); err != nil {
				return err
			}
		}
	}
	return nil
}

// piece is the piece at an address.
func (j *job) piece(at int64) *jobPiece {
	i := slices.IndexFunc(j.pieces, func(p jobPiece) bool { return p.rng.Off <= at && at < p.rng.End })
	if i < 0 {
		return nil
	}
	return &j.pieces[i]
}

// answer is what a response's header says: the file's size, or that there is none.
func (j *job) answer(off int64) (news bool, err error) {
	pc := *j.piece(off)
	f := &j.files[pc.file]
	switch {
	case f.known:
		return false, nil
	case f.Missing:
		f.known = true
		return true, j.giveUp(pc.file)
	}
	f.known = true
	switch {
	case f.Size < f.Guess:
		err = j.void(scheduler.Range{Off: pc.rng.Off + f.Size, End: pc.rng.End})
	case f.Size > f.Guess:
		err = j.add(pc.file, f.Guess, f.Size-f.Guess)
	}
	return true, err
}

// check says what is wrong with asking for a range.
func (j *job) check(r scheduler.Range) error {
	pc := j.piece(r.Off)
	switch {
	case pc == nil || r.Empty():
		return fmt.Errorf("nobody added these bytes")
	case r.End > pc.rng.End:
		return fmt.Errorf("it crosses the end of a piece, %v", pc.rng)
	}
	f := &j.files[pc.file]
	switch {
	case f.gone:
		return fmt.Errorf("the file was given up")
	case f.known && pc.from+r.End-pc.rng.Off > f.Size:
		return fmt.Errorf("beyond the file's end, %d", f.Size)
	case !f.known && r.Off > pc.rng.Off:
		return fmt.Errorf("nobody knows yet whether these bytes exist")
	}
	return nil
}

// whole says whether all is there that was not given up.
func (j *job) whole(l *ledger) error {
	if j.next < len(j.files) {
		return fmt.Errorf("completion was said before all files were added")
	}
	have := l.sorted()
	sum := make([]int64, len(j.files))
	for _, pc := range j.pieces {
		for _, h := range have {
			sum[pc.file] += max(0, min(h.End, pc.rng.End)-max(h.Off, pc.rng.Off))
		}
	}
	for i, f := range j.files {
		if !f.gone && (sum[i] != f.Size || !f.known && f.Size > 0) {
			return fmt.Errorf("completion was said with %d bytes of file %d, which has %d", sum[i], i, f.Size)
		}
	}
	return nil
}
