package daemon

import "sync"

// LinkShare is what one link does for a job.
type LinkShare struct {
	Name  string
	Bytes int64
	Rate  float64 // bytes per second now
}

// Progress is where an active job stands. The Downloader sets it, anybody reads it.
type Progress struct {
	mu          sync.Mutex
	path        string
	used        int
	size, done  int64
	connections int
	links       []LinkShare
}

// SetPath says what the file is called.
func (p *Progress) SetPath(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.path = path
}

// SetUsed says how many of the job's URIs have been tried, the one in use included.
func (p *Progress) SetUsed(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used = n
}

// SetSize says how large the object is.
func (p *Progress) SetSize(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.size = max(0, n)
}

// SetDone says how much of the object is there.
func (p *Progress) SetDone(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = n
}

// SetLinks says what the links do for the job. The list is not changed afterwards.
func (p *Progress) SetLinks(connections int, links []LinkShare) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.connections, p.links = connections, links
}

// into writes down what of the progress lasts.
func (p *Progress) into(j *Job) {
	p.mu.Lock()
	defer p.mu.Unlock()
	j.Path, j.Size, j.Done, j.Used = p.path, p.size, p.done, max(j.Used, p.used)
}

// Status is a job as it stands.
type Status struct {
	Job
	Speed       int64 // bytes per second
	Connections int
	Links       []LinkShare
}

// status is a job as it stands. Its lists are shared with the queue's job, which replaces them
// and does not change them.
func (m *Manager) status(j *Job) Status {
	s := Status{Job: *j}
	r, ok := m.busy[j.GID]
	if !ok || j.State != Active {
		return s
	}
	r.progress.into(&s.Job)
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	s.Connections, s.Links = r.progress.connections, r.progress.links
	for _, l := range s.Links {
		s.Speed += int64(l.Rate)
	}
	return s
}
