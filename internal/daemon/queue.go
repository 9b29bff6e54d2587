package daemon

import (
	"errors"
	"slices"
)

// The reasons for which a queue refuses something.
var (
	ErrNotFound  = errors.New("no such job")
	ErrAmbiguous = errors.New("several jobs have this prefix")
	ErrTaken     = errors.New("another job has this GID")
	ErrState     = errors.New("the job's state does not allow it")
)

// Queue is the jobs in their order. It does nothing by itself, and is for one goroutine at
// a time.
type Queue struct {
	jobs    map[GID]*Job
	active  []*Job // in the order in which they were begun
	waiting []*Job // and paused ones, the next one first
	stopped []*Job // the oldest first
	ended   int    // how many have stopped, those forgotten included
	keep    int    // how many stopped ones are kept
}

// NewQueue makes an empty queue that keeps so many jobs that have stopped.
func NewQueue(keep int) *Queue { return &Queue{jobs: make(map[GID]*Job), keep: keep} }

// Job finds a job by its GID.
func (q *Queue) Job(g GID) (*Job, bool) {
	j, ok := q.jobs[g]
	return j, ok
}

// Find finds the job that alone has a GID with this prefix.
func (q *Queue) Find(prefix string) (*Job, error) {
	if prefix == "" {
		return nil, ErrGID
	}
	low, high, err := span(prefix)
	if err != nil {
		return nil, err
	}
	if low == high {
		if j, ok := q.jobs[low]; ok {
			return j, nil
		}
		return nil, ErrNotFound
	}
	var found *Job
	for _, list := range q.lists() {
		for _, j := range *list {
			if j.GID < low || j.GID > high {
				continue
			}
			if found != nil {
				return nil, ErrAmbiguous
			}
			found = j
		}
	}
	if found == nil {
		return nil, ErrNotFound
	}
	return found, nil
}

func (q *Queue) lists() [3]*[]*Job { return [...]*[]*Job{&q.active, &q.waiting, &q.stopped} }

// list is the one that holds jobs of a state.
func (q *Queue) list(s State) *[]*Job {
	switch {
	case s == Active:
		return &q.active
	case s.queued():
		return &q.waiting
	}
	return &q.stopped
}

// Put adds a job, in the place of the one with its GID, if there is one. at is its place in
// the list of its state; one that is out of range is the end.
func (q *Queue) Put(j *Job, at int) {
	if old, ok := q.jobs[j.GID]; ok {
		q.take(old)
	}
	q.jobs[j.GID] = j
	list := q.list(j.State)
	if at < 0 || at > len(*list) {
		at = len(*list)
	}
	*list = slices.Insert(*list, at, j)
}

// PutByPriority puts a waiting or paused job, which may be in the queue already, behind those
// of its own priority or a higher one.
func (q *Queue) PutByPriority(j *Job) {
	q.take(j)
	at := len(q.waiting)
	for at > 0 && q.waiting[at-1].Priority() < j.Priority() {
		at--
	}
	q.Put(j, at)
}

// take takes a job out of the list that it is in.
func (q *Queue) take(j *Job) {
	list := q.list(j.State)
	if at := slices.Index(*list, j); at >= 0 {
		*list = slices.Delete(*list, at, at+1)
	}
}

// Set gives a job another state: waiting and paused jobs stay where they are in the queue, and
// come to its front if they were elsewhere; others go to the end of their list.
func (q *Queue) Set(j *Job, s State) {
	switch {
	case j.State.queued() && s.queued():
		j.State = s
		return
	case s.stopped() && !j.State.stopped():
		q.ended++
	}
	q.take(j)
	j.State = s
	list, at := q.list(s), 0
	if !s.queued() {
		at = len(*list)
	}
	*list = slices.Insert(*list, at, j)
}

// Position is a job's place in the list of its state.
func (q *Queue) Position(j *Job) int { return slices.Index(*q.list(j.State), j) }

// Move gives a waiting or paused job another place in the queue, the nearest that there is,
// and tells which.
func (q *Queue) Move(j *Job, to int) (int, error) {
	if !j.State.queued() {
		return 0, ErrState
	}
	to = min(max(to, 0), len(q.waiting)-1)
	q.take(j)
	q.waiting = slices.Insert(q.waiting, to, j)
	return to, nil
}

// Forget takes a job out of the queue for good.
func (q *Queue) Forget(j *Job) {
	q.take(j)
	delete(q.jobs, j.GID)
}

// Surplus is the oldest job that has stopped, if there are more than are kept; else nil.
func (q *Queue) Surplus() *Job {
	if len(q.stopped) > q.keep {
		return q.stopped[0]
	}
	return nil
}

// Next is the first job that waits and is not busy; nil: there is none.
func (q *Queue) Next(busy map[GID]*running) *Job {
	for _, j := range q.waiting {
		if _, is := busy[j.GID]; j.State == Waiting && !is {
			return j
		}
	}
	return nil
}

// Page is num jobs of a list from offset on. A negative offset counts from the list's end,
// and the jobs come in the opposite order, as in aria2's tellWaiting.
func Page(list []*Job, offset, num int) []*Job {
	if offset >= 0 {
		from := min(offset, len(list))
		return list[from:min(len(list), from+min(num, len(list)))]
	}
	last := len(list) + offset
	if last < 0 {
		return nil
	}
	page := make([]*Job, 0, min(num, last+1))
	for at := last; at >= 0 && len(page) < num; at-- {
		page = append(page, list[at])
	}
	return page
}
