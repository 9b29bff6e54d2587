package daemon

// Kind is what a Notice tells.
type Kind uint8

// The kinds of notices: aria2's, and trouble of the daemon's own.
const (
	Started Kind = iota
	PausedNow
	Stopped
	Completed
	Erred
	Trouble // Text says what
)

// Notice is something that happened to a job.
type Notice struct {
	Kind Kind
	GID  GID
	Text string
}

// noticeBacklog is how many notices may wait for a subscriber. Whoever is further behind
// loses the subscription: a client that does not read must not fill the memory.
const noticeBacklog = 4096

// Subscribe gives every notice from now on, until the manager is closed, or the subscriber
// is too far behind.
func (m *Manager) Subscribe() <-chan Notice {
	c := make(chan Notice, noticeBacklog)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		close(c)
		return c
	}
	m.watchers[c] = struct{}{}
	return c
}

// Unsubscribe ends a subscription.
func (m *Manager) Unsubscribe(c <-chan Notice) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for w := range m.watchers {
		if w == c {
			delete(m.watchers, w)
			close(w)
		}
	}
}

func (m *Manager) tell(n Notice) {
	for c := range m.watchers {
		select {
		case c <- n:
		default:
			delete(m.watchers, c)
			close(c)
		}
	}
}
