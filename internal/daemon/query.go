package daemon

import (
	"maps"
	"slices"
)

// Status tells how the job with this prefix stands.
func (m *Manager) Status(prefix string) (Status, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j, err := m.q.Find(prefix)
	if err != nil {
		return Status{}, err
	}
	return m.status(j), nil
}

func (m *Manager) statuses(list []*Job) []Status {
	all := make([]Status, len(list))
	for i, j := range list {
		all[i] = m.status(j)
	}
	return all
}

// Active tells how the active jobs stand.
func (m *Manager) Active() []Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.statuses(m.q.active)
}

// Waiting tells of waiting and paused jobs; see Page.
func (m *Manager) Waiting(offset, num int) []Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.statuses(Page(m.q.waiting, offset, num))
}

// Stopped tells of jobs that have ended, the oldest first; see Page.
func (m *Manager) Stopped(offset, num int) []Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.statuses(Page(m.q.stopped, offset, num))
}

// Totals is the queue in numbers.
type Totals struct {
	Active, Waiting, Stopped int
	Ended                    int   // stopped jobs, those forgotten included
	Speed                    int64 // bytes per second
}

// Totals tells of the queue as a whole.
func (m *Manager) Totals() Totals {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := Totals{Active: len(m.q.active), Waiting: len(m.q.waiting), Stopped: len(m.q.stopped), Ended: m.q.ended}
	for _, j := range m.q.active {
		t.Speed += m.status(j).Speed
	}
	return t
}

// Count counts the jobs by their states. All states are there.
func (m *Manager) Count() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := map[string]int{string(Active): len(m.q.active), string(Waiting): 0, string(Paused): 0, string(Complete): 0, string(Failed): 0, string(Removed): 0}
	for _, list := range [][]*Job{m.q.waiting, m.q.stopped} {
		for _, j := range list {
			n[string(j.State)]++
		}
	}
	return n
}

// Global is the global options that were changed.
func (m *Manager) Global() Options {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.global)
}

// SetGlobal changes global options. They count for jobs that are added from now on.
func (m *Manager) SetGlobal(o Options) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := maps.Clone(m.global)
	maps.Copy(changed, o)
	before := m.global[optOverall]
	m.global = changed
	if changed[optOverall] != before {
		m.limit()
		for _, j := range slices.Backward(slices.Clone(m.q.active)) {
			j.silent = true
			m.alter(j, j.URIs, j.Options) // begun again, it has the new limit
		}
	}
	var err error
	if m.session != nil {
		err = m.session.Global(m.global)
	}
	m.begin()
	return err
}

// SetOptions changes a job's options. An active job is begun again with them, and goes on
// where it was.
func (m *Manager) SetOptions(prefix string, o Options) error {
	_, err := m.change(prefix, func(j *Job) error {
		if j.State.stopped() {
			return ErrState
		}
		all := j.Options.All()
		j.silent = j.State == Active && onlyLimit(all, o)
		maps.Copy(all, o)
		before := j.Priority()
		m.alter(j, j.URIs, all.Pack())
		if j.State.queued() && j.Priority() != before {
			m.q.PutByPriority(j)
			m.save(j)
		}
		return nil
	})
	return err
}

// onlyLimit says whether changed has nothing new but a limit.
func onlyLimit(before, changed Options) bool {
	for name, value := range changed {
		if was, there := before[name]; name != optLimit && (!there || was != value) {
			return false
		}
	}
	return true
}

// SetURIs changes a job's URIs. An active job is begun again with them.
func (m *Manager) SetURIs(prefix string, how func(uris []string) []string) error {
	_, err := m.change(prefix, func(j *Job) error {
		if j.State.stopped() {
			return ErrState
		}
		m.alter(j, how(j.URIs), j.Options)
		return nil
	})
	return err
}

func (m *Manager) alter(j *Job, uris []string, o Packed) {
	again := j.State == Active
	if again {
		m.halt(j)
	}
	j.URIs, j.Options, j.Used = uris, o, 0
	if again {
		m.q.Set(j, Waiting)
	}
	m.save(j)
}
