package replay

import (
	"fmt"
	"math"
	"slices"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// A message is a list of fields, each with a number that never changes its meaning. This
// file is the only place where the numbers meet Go's types: whoever renames or moves a
// field of the scheduler edits one line here, and no stored run changes.

// field is a number of a message and its value; a field whose value is zero is left out.
type field struct {
	number int
	name   string // for people; not stored
	value  int64  // of an integer, or the bits of a float64
	sub    message
}

type message []field

// form converts between a struct and a message: write appends the struct's fields, else they
// are set from the message.
type form struct {
	write   bool
	message message
}

func (f *form) get(number int) *field {
	for i := range f.message {
		if f.message[i].number == number {
			return &f.message[i]
		}
	}
	return nil
}

func integer[T ~int | ~int32 | ~int64 | ~uint8](f *form, number int, name string, p *T) {
	if !f.write {
		if x := f.get(number); x != nil {
			*p = T(x.value)
		}
	} else if *p != 0 {
		f.message = append(f.message, field{number: number, name: name, value: int64(*p)})
	}
}

func float(f *form, number int, name string, p *float64) {
	bits := int64(math.Float64bits(*p))
	integer(f, number, name, &bits)
	*p = math.Float64frombits(uint64(bits))
}

func boolean(f *form, number int, name string, p *bool) {
	n := 0
	if *p {
		n = 1
	}
	integer(f, number, name, &n)
	*p = n != 0
}

// code stores a kind as its place in a list of all kinds, from 1 on.
func code[T comparable](f *form, number int, name string, p *T, kinds []T) {
	n := 0
	if f.write {
		n = slices.Index(kinds, *p) + 1
	}
	integer(f, number, name, &n)
	if !f.write && n > 0 && n <= len(kinds) {
		*p = kinds[n-1]
	}
}

func nested[T comparable](f *form, number int, name string, p *T, fields func(*form, *T)) {
	var zero T
	if !f.write {
		if x := f.get(number); x != nil {
			fields(&form{message: x.sub}, p)
		}
	} else if *p != zero {
		sub := form{write: true}
		fields(&sub, p)
		f.message = append(f.message, field{number: number, name: name, sub: sub.message})
	}
}

// encoded is the message of a struct, and decoded the other way round.
func encoded[T any](x T, fields func(*form, *T)) message {
	f := form{write: true}
	fields(&f, &x)
	return f.message
}

func decoded[T any](m message, fields func(*form, *T)) (x T) {
	fields(&form{message: m}, &x)
	return x
}

// configFields are those of a run's configuration.
func configFields(f *form, c *event.SchedulerStarted) {
	algorithms := []string{"single", "naive", "1", "2", "3"}
	modes := []scheduler.EnergyMode{scheduler.EnergyOff, scheduler.EnergyEMTCP, scheduler.EnergyMin}
	code(f, 1, "algorithm", &c.Algorithm, algorithms)
	integer(f, 2, "static limit", &c.StaticLimit)
	float(f, 3, "padding", &c.Padding)
	integer(f, 4, "links", &c.Links)
	integer(f, 5, "size", &c.Size)
	float(f, 6, "overlap", &c.Overlap)
	integer(f, 7, "window", &c.Window)
	boolean(f, 8, "no steal", &c.NoSteal)
	boolean(f, 9, "no failover", &c.NoFailover)
	integer(f, 10, "parallelism", &c.Parallelism)
	boolean(f, 11, "batch", &c.Batch)
	boolean(f, 12, "TLS", &c.TLS)
	boolean(f, 13, "limited", &c.Limited)
	code(f, 14, "energy", &c.Energy, modes)
	float(f, 15, "offload", &c.Offload)
	integer(f, 16, "deadline", &c.Deadline)
	n := len(c.Have)
	if integer(f, 17, "ranges", &n); !f.write {
		c.Have = make([]scheduler.Range, max(0, min(n, 1<<20)))
	}
	for i := range c.Have {
		nested(f, 18+i, "have", &c.Have[i], rangeFields)
	}
}

func rangeFields(f *form, r *scheduler.Range) {
	integer(f, 1, "begin", &r.Off)
	integer(f, 2, "end", &r.End)
}

func inputFields(f *form, in *scheduler.Input) {
	code(f, 1, "kind", &in.Kind, []scheduler.InputKind{
		scheduler.LinkUp, scheduler.LinkDown, scheduler.Sized, scheduler.Progress, scheduler.Finished, scheduler.Failed,
		scheduler.Drained, scheduler.Power, scheduler.Tick, scheduler.Spent, scheduler.Added, scheduler.Voided,
		scheduler.Expected, scheduler.Planned, scheduler.Beyond, scheduler.Compared, scheduler.Short,
	})
	integer(f, 2, "link", &in.Link)
	integer(f, 3, "chunk", &in.Chunk)
	integer(f, 4, "bytes", &in.Bytes)
	integer(f, 5, "round trip", &in.RTT)
	integer(f, 6, "latest handshakes", &in.Handshake)
	integer(f, 7, "handshake", &in.Shook)
	integer(f, 8, "data round trip", &in.Trip)
	integer(f, 9, "wait", &in.Wait)
	integer(f, 10, "reordered", &in.Reordered)
	integer(f, 11, "bytes behind a gap", &in.Behind)
	// 12 was what is not told any more: bytes of requests cut short.
	float(f, 13, "bandwidth", &in.Bandwidth)
	float(f, 14, "watts", &in.Watts)
	boolean(f, 15, "single", &in.Single)
	boolean(f, 16, "lasting", &in.Lasting)
	boolean(f, 17, "answered", &in.Answered)
	boolean(f, 18, "held", &in.Held)
	integer(f, 19, "bounded", &in.Bounded)
	nested(f, 20, "terms", &in.Terms, termsFields)
	nested(f, 21, "piece", &in.Piece, pieceFields)
	planned := in.Plan != nil
	if boolean(f, 22, "planned", &planned); planned && !f.write {
		in.Plan = new(scheduler.Plan)
	}
	if planned {
		nested(f, 23, "plan", in.Plan, planFields)
	}
}

func termsFields(f *form, t *scheduler.Terms) {
	integer(f, 1, "cap", &t.Cap)
	boolean(f, 2, "backup", &t.Backup)
	boolean(f, 3, "costly", &t.Costly)
	float(f, 4, "usual rate", &t.Usual)
	nested(f, 5, "radio", &t.Radio, radioFields)
}

func radioFields(f *form, r *scheduler.Radio) {
	float(f, 1, "active mW", &r.ActiveMW)
	float(f, 2, "mW per Mbit/s", &r.MWPerMbps)
	float(f, 3, "promotion mJ", &r.PromotionMJ)
	float(f, 4, "tail mJ", &r.TailMJ)
	integer(f, 5, "tail time", &r.TailTime)
	integer(f, 6, "promotion time", &r.PromotionTime)
	float(f, 7, "mW per connection", &r.MWPerConnection)
}

func pieceFields(f *form, p *scheduler.Piece) {
	nested(f, 1, "range", &p.Range, rangeFields)
	integer(f, 2, "file", &p.File)
	integer(f, 3, "class", &p.Class)
	boolean(f, 4, "guess", &p.Guess)
}

func planFields(f *form, p *scheduler.Plan) {
	integer(f, 1, "files", &p.Files)
	for i := range p.Classes {
		nested(f, 2+i, fmt.Sprintf("class %d", i), &p.Classes[i], shareFields)
	}
}

func shareFields(f *form, s *scheduler.Share) {
	integer(f, 1, "connections", &s.Connections)
	integer(f, 2, "parallelism", &s.Parallelism)
	integer(f, 3, "pipelining", &s.Pipelining)
}

func actionFields(f *form, a *scheduler.Action) {
	code(f, 1, "kind", &a.Kind, []scheduler.ActionKind{
		scheduler.Start, scheduler.Shrink, scheduler.Cancel, scheduler.Ban, scheduler.Unban, scheduler.Complete,
		scheduler.Rest, scheduler.Wake, scheduler.Open, scheduler.Flush,
	})
	integer(f, 2, "link", &a.Link)
	integer(f, 3, "stream", &a.Stream)
	integer(f, 4, "chunk", &a.Chunk)
	nested(f, 5, "range", &a.Range, rangeFields)
	boolean(f, 6, "copy", &a.Copy)
	boolean(f, 7, "close", &a.Close)
	integer(f, 8, "reason", &a.Why)
	integer(f, 9, "costs mJ", &a.Costs)
	integer(f, 10, "saves mJ", &a.Saves)
}
