package engine

import (
	"errors"
	"time"

	"github.com/mlget/mlget/internal/fetch"
)

// ErrUnwanted says that an object was not fetched because of its job's Condition. It is no
// failure.
var ErrUnwanted = errors.New("not fetched")

// Condition says which objects are wanted, by the time of change that their server tells.
// The zero value wants all, and one without a time is always wanted.
type Condition struct {
	After  time.Time // zero, or only objects that were changed later than this
	Before time.Time // zero, or only objects that were changed earlier than this
	// Local: After is of a file on disk that has Size bytes: an object of another size is
	// wanted even so.
	Local bool
	Size  int64
}

// timeSlack is how much earlier a file may seem to have been changed than it was: FAT counts
// in 2 s.
const timeSlack = 2 * time.Second

// any says whether there is a condition.
func (c *Condition) any() bool { return !c.After.IsZero() || !c.Before.IsZero() }

// wants says whether an object is to be fetched.
func (c *Condition) wants(o *fetch.Object) bool {
	if !c.any() {
		return true
	}
	of := claimOf(o).Identity
	changed, known := of.Modified()
	switch {
	case !known, c.Local && o.Size >= 0 && o.Size != c.Size:
		return true
	case c.Local && changed.Sub(c.After) < timeSlack, !c.Local && !c.After.IsZero() && !changed.After(c.After):
		return false
	}
	return c.Before.IsZero() || changed.Before(c.Before)
}

// refuses is why a response is not read; nil: it may be.
func (j *Job) refuses(resp *fetch.Response) error {
	if !j.If.wants(&resp.Object) {
		return ErrUnwanted
	}
	return j.directory(resp)
}
