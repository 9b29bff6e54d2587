package daemon

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
)

// The options that steer the queue.
const (
	optConcurrent = "max-concurrent-downloads"
	optPause      = "pause"
	optOverall    = "max-overall-download-limit"
	optLimit      = "max-download-limit"
	optPriority   = "mlget-priority" // aria2 has none
)

// maxRetries is how often a job that failed for the network is begun again when links come
// back; chosen by hand.
const maxRetries = 20

// defaultConcurrent is aria2's default of max-concurrent-downloads.
const defaultConcurrent = 5

// Downloader downloads the file of one job.
type Downloader interface {
	// Download returns when the file is complete, has failed, or ctx has ended; then what is
	// there is kept for the next time. It may be called from several goroutines.
	Download(ctx context.Context, job Job, p *Progress) Outcome
	// Path is the name that the job's file gets with the job's Number, and whether no file has
	// it yet.
	Path(job Job) (path string, free bool)
	// Limit limits the rate of all downloads that begin from now on, in bytes per second; 0:
	// no limit.
	Limit(bytes int64)
}

// Outcome is what came of a download.
type Outcome struct {
	Path      string // of the complete file
	Size      int64  // of the complete file, in bytes
	Code      int    // 0: complete; else aria2's exit code
	Message   string // why it is not complete
	Retryable bool   // it failed for the network
}

// running is an active job's download, or one that is about to end.
type running struct {
	cancel   context.CancelFunc
	progress *Progress
}

// Manager downloads the jobs of a queue, so many at once, and writes down every change of it.
// Its methods may be called from any goroutine.
type Manager struct {
	mu       sync.Mutex
	q        *Queue
	session  *Session // nil: the queue ends with the process
	global   Options  // beyond the defaults
	busy     map[GID]*running
	watchers map[chan Notice]struct{}
	closed   bool
	dl       Downloader
	ctx      context.Context //nolint:containedctx // of all downloads: New's, until Close
	cancel   context.CancelFunc
	wait     sync.WaitGroup
}

// New makes a manager, which begins no job before Start. session may be nil.
func New(ctx context.Context, q *Queue, session *Session, global Options, dl Downloader) *Manager {
	m := &Manager{q: q, session: session, global: global, dl: dl, busy: make(map[GID]*running), watchers: make(map[chan Notice]struct{})}
	if m.global == nil {
		m.global = Options{}
	}
	m.ctx, m.cancel = context.WithCancel(ctx)
	m.limit()
	return m
}

// limit tells the downloader of the overall limit.
func (m *Manager) limit() {
	bytes, err := strconv.ParseInt(m.global[optOverall], 10, 64)
	if err != nil {
		bytes = 0 // there is none
	}
	m.dl.Limit(bytes)
}

// Start begins the first jobs.
func (m *Manager) Start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begin()
}

// Close ends all downloads, whose jobs stay active in the session, and closes the session.
func (m *Manager) Close() error {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.cancel()
	m.wait.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	for c := range m.watchers {
		delete(m.watchers, c)
		close(c)
	}
	if m.session == nil {
		return nil
	}
	err := m.session.Rewrite(m.q, m.global)
	if closing := m.session.Close(); err == nil {
		err = closing
	}
	m.session = nil
	return err
}

// begin begins waiting jobs while there is room for more.
func (m *Manager) begin() {
	for !m.closed && len(m.q.active) < m.concurrent() {
		j := m.q.Next(m.busy)
		if j == nil {
			return
		}
		m.q.Set(j, Active)
		m.name(j)
		task := j.clone()
		j.Begun = true
		ctx, cancel := context.WithCancel(m.ctx)
		r := &running{cancel: cancel, progress: &Progress{}}
		r.progress.SetPath(j.Path)
		r.progress.SetSize(j.Size)
		r.progress.SetDone(j.Done)
		m.busy[j.GID] = r
		m.save(j)
		if !j.silent {
			m.tell(Notice{Kind: Started, GID: j.GID})
		}
		j.silent = false
		m.wait.Go(func() { m.run(ctx, task, r) })
	}
}

// name finds a name for the file of a job that was not begun yet: none that another file has, or
// is to have. When the process is killed, the next one knows the file by it.
func (m *Manager) name(j *Job) {
	if j.Begun {
		return
	}
	for j.Number = 0; ; j.Number++ {
		var free bool
		if j.Path, free = m.dl.Path(*j); !free {
			continue
		}
		of := func(other *Job) bool { return other != j && other.Path == j.Path }
		if j.Path == "" || !slices.ContainsFunc(m.q.active, of) && !slices.ContainsFunc(m.q.waiting, of) {
			return
		}
	}
}

func (m *Manager) concurrent() int {
	if n, err := strconv.Atoi(m.global[optConcurrent]); err == nil && n > 0 {
		return n
	}
	return defaultConcurrent
}

// run downloads one job. What the queue says of it at the end counts: it may have been paused,
// removed or changed meanwhile.
func (m *Manager) run(ctx context.Context, task Job, r *running) {
	out := m.dl.Download(ctx, task, r.progress)
	r.cancel()
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.busy, task.GID)
	j, ok := m.q.Job(task.GID)
	if ok {
		r.progress.into(j)
	}
	switch {
	case !ok:
	case j.State != Active:
		m.save(j)
	case out.Code == 0:
		j.Path, j.Size, j.Done = out.Path, out.Size, out.Size
		m.stop(j, Complete, Notice{Kind: Completed, GID: j.GID})
	case m.ctx.Err() != nil: // the next process goes on with it
	default:
		j.Code, j.Message, j.Retryable = out.Code, out.Message, out.Retryable
		m.stop(j, Failed, Notice{Kind: Erred, GID: j.GID})
	}
	m.begin()
}

// stop gives a job a state of those that have ended.
func (m *Manager) stop(j *Job, s State, n Notice) {
	m.q.Set(j, s)
	m.save(j)
	m.tell(n)
	for old := m.q.Surplus(); old != nil; old = m.q.Surplus() {
		m.forget(old)
	}
}

func (m *Manager) forget(j *Job) {
	m.q.Forget(j)
	if m.session != nil {
		m.trouble(m.session.Gone(j.GID))
	}
}

func (m *Manager) save(j *Job) {
	if m.session == nil {
		return
	}
	if m.session.Stale(m.q) {
		m.trouble(m.session.Rewrite(m.q, m.global))
		return
	}
	m.trouble(m.session.Put(m.q, j))
}

func (m *Manager) trouble(err error) {
	if err != nil {
		m.tell(Notice{Kind: Trouble, Text: "the session was not saved: " + err.Error()})
	}
}

// Add adds a job at a place of the waiting queue, or by its priority if at is less than 0; gid 0 is one of its own. The global options count as they are now.
func (m *Manager) Add(gid GID, uris []string, o Options, at int) (GID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if gid == 0 {
		gid = NewGID()
	}
	if _, taken := m.q.Job(gid); taken {
		return 0, ErrTaken
	}
	all := maps.Clone(m.global)
	maps.Copy(all, o)
	j := &Job{GID: gid, State: Waiting, URIs: slices.Clone(uris)}
	if all[optPause] == "true" {
		j.State = Paused
	}
	delete(all, optPause)
	delete(all, optConcurrent)
	j.Options = all.Pack()
	if at < 0 {
		m.q.PutByPriority(j)
	} else {
		m.q.Put(j, at)
	}
	if m.session != nil {
		if err := m.session.Put(m.q, j); err != nil {
			m.q.Forget(j)
			return 0, err
		}
	}
	m.begin()
	return gid, nil
}

// change finds a job and changes it.
func (m *Manager) change(prefix string, how func(j *Job) error) (GID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j, err := m.q.Find(prefix)
	if err != nil {
		return 0, err
	}
	err = how(j)
	m.begin()
	return j.GID, err
}

// Pause ends a job's download, which goes on when it is unpaused, or keeps it from beginning.
func (m *Manager) Pause(prefix string) (GID, error) {
	return m.change(prefix, func(j *Job) error {
		if j.State != Active && j.State != Waiting {
			return ErrState
		}
		m.pause(j)
		return nil
	})
}

func (m *Manager) pause(j *Job) {
	active := j.State == Active
	m.halt(j)
	m.q.Set(j, Paused)
	m.save(j)
	if active {
		m.tell(Notice{Kind: PausedNow, GID: j.GID})
	}
}

// halt ends an active job's download.
func (m *Manager) halt(j *Job) {
	if r, ok := m.busy[j.GID]; ok {
		r.progress.into(j)
		r.cancel()
	}
}

// PauseAll pauses all jobs.
func (m *Manager) PauseAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range slices.Backward(slices.Clone(m.q.active)) {
		m.pause(j)
	}
	for _, j := range m.q.waiting {
		if j.State == Waiting {
			m.pause(j)
		}
	}
}

// Unpause lets a paused job wait for its turn.
func (m *Manager) Unpause(prefix string) (GID, error) {
	return m.change(prefix, func(j *Job) error {
		if j.State != Paused {
			return ErrState
		}
		m.unpause(j)
		return nil
	})
}

func (m *Manager) unpause(j *Job) {
	j.Message, j.silent = "", false
	m.q.Set(j, Waiting)
	m.save(j)
}

// UnpauseAll unpauses all jobs.
func (m *Manager) UnpauseAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range m.q.waiting {
		if j.State == Paused {
			m.unpause(j)
		}
	}
	m.begin()
}

// codeRemoved is aria2's exit code of a job that the user removed.
const codeRemoved = 31

// Remove ends a job for good. One that was active is kept among the stopped ones; of one that
// was not, nothing is left, as in aria2. What was downloaded of it stays on disk.
func (m *Manager) Remove(prefix string) (GID, error) {
	return m.change(prefix, func(j *Job) error {
		switch {
		case j.State == Active:
			m.halt(j)
			j.Code = codeRemoved
			m.stop(j, Removed, Notice{Kind: Stopped, GID: j.GID})
		case j.State.queued():
			m.forget(j)
			m.tell(Notice{Kind: Stopped, GID: j.GID})
		default:
			return ErrState
		}
		return nil
	})
}

// Forget takes a stopped job's result out of the queue.
func (m *Manager) Forget(prefix string) error {
	_, err := m.change(prefix, func(j *Job) error {
		if !j.State.stopped() {
			return ErrState
		}
		m.forget(j)
		return nil
	})
	return err
}

// Purge takes all stopped jobs' results out of the queue.
func (m *Manager) Purge() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range slices.Clone(m.q.stopped) {
		m.forget(j)
	}
}

// Whence is what a place in the queue is counted from.
type Whence uint8

// The origins of a place.
const (
	FromStart Whence = iota
	FromCurrent
	FromEnd
)

// Move gives a waiting or paused job another place in the queue, and tells which.
func (m *Manager) Move(prefix string, offset int, from Whence) (at int, err error) {
	_, err = m.change(prefix, func(j *Job) error {
		to := offset
		switch from {
		case FromStart:
		case FromCurrent:
			to += m.q.Position(j)
		case FromEnd:
			to += len(m.q.waiting) - 1
		}
		if at, err = m.q.Move(j, to); err == nil {
			m.save(j)
		}
		return err
	})
	return at, err
}

// LinksReturned begins those jobs again that failed for the network.
func (m *Manager) LinksReturned() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, j := range slices.Backward(slices.Clone(m.q.stopped)) {
		if j.State != Failed || !j.Retryable || j.Retries >= maxRetries {
			continue
		}
		j.Retries++
		j.Code, j.Message, j.Retryable = 0, "", false
		m.q.Set(j, Waiting)
		m.save(j)
	}
	m.begin()
}

// Save writes the session anew and waits for the disk.
func (m *Manager) Save() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.session == nil {
		return nil
	}
	return m.session.Rewrite(m.q, m.global)
}
