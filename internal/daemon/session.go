package daemon

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/mlget/mlget/internal/filelock"
	"github.com/mlget/mlget/internal/rewrite"
)

// maxLine bounds a line of a session file, and so what is kept of a job.
const maxLine = 4 << 20

// Session is the file that holds the queue: JSON lines, of which the last one about a job
// counts. A change appends a line, which a killed process leaves behind whole or not at all,
// and when most lines are out of date the file is written anew and takes the old one's
// place. Only that waits for the disk: after a loss of power the last changes may be missing.
type Session struct {
	name  string
	lock  *os.File
	file  *os.File
	lines int   // in the file
	size  int64 // of the file, in bytes
}

// line is one line of a session file: a job with its place, one that is gone, or the global
// options.
type line struct {
	Job    *Job    `json:"job,omitempty"`
	At     int     `json:"at,omitempty"` // of a waiting or paused job
	Gone   *GID    `json:"gone,omitempty"`
	Global Options `json:"global,omitzero"`
}

// OpenSession opens a session file, or begins it, and puts what it holds into q. It fails with
// filelock.ErrBusy if another process has it.
func OpenSession(name string, q *Queue) (*Session, Options, error) {
	lock, err := os.OpenFile(name+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	if err := filelock.Take(lock); err != nil {
		_ = lock.Close() // nothing was written
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	s := &Session{name: name, lock: lock}
	global, err := s.read(q)
	if err == nil {
		err = s.Rewrite(q, global)
	}
	if err != nil {
		_ = filelock.Close(lock)
		return nil, nil, err
	}
	return s, global, nil
}

func (s *Session) read(q *Queue) (Options, error) {
	f, err := os.Open(s.name)
	if errors.Is(err, fs.ErrNotExist) {
		return Options{}, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	global, err := readSession(f, q)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	return global, nil
}

// readSession puts the jobs of a session file into q. Jobs that were active wait again, before
// the others. A last line without an end was being written when the process was killed.
func readSession(in io.Reader, q *Queue) (Options, error) {
	global := Options{}
	r := bufio.NewReader(in)
	for n := 1; ; n++ {
		text, err := readLine(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		switch {
		case l.Job != nil && l.Job.isSound():
			q.Put(l.Job, l.At)
		case l.Gone != nil:
			if j, ok := q.Job(*l.Gone); ok {
				q.Forget(j)
			}
		case l.Global != nil:
			global = l.Global
		default:
			return nil, fmt.Errorf("line %d: neither a job nor options", n)
		}
	}
	for len(q.active) > 0 {
		q.Set(q.active[len(q.active)-1], Waiting)
	}
	q.ended = len(q.stopped)
	return global, nil
}

// readLine is the next line that has an end.
func readLine(r *bufio.Reader) (text []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case err == nil:
			return text, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(text) > maxLine:
			return nil, errors.New("it is too long")
		}
	}
}

// Put writes down a job, as it is now.
func (s *Session) Put(q *Queue, j *Job) error {
	at := -1
	if j.State.queued() {
		at = q.Position(j)
	}
	saved := j.saved()
	return s.add(line{Job: &saved, At: at})
}

// Gone writes down that a job is no longer of the queue.
func (s *Session) Gone(g GID) error { return s.add(line{Gone: &g}) }

// Global writes down the global options.
func (s *Session) Global(o Options) error {
	public, _ := o.WithoutSecrets()
	return s.add(line{Global: public})
}

func (s *Session) add(l line) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	n, err := s.file.Write(append(text, '\n'))
	if err != nil { // of a full disk: what is there must end with a line's end
		return errors.Join(err, s.file.Truncate(s.size))
	}
	s.lines++
	s.size += int64(n)
	return nil
}

// Stale says whether most of the file is out of date.
func (s *Session) Stale(q *Queue) bool { return s.lines > 2*len(q.jobs)+1000 }

// Rewrite writes the file anew, and waits for the disk.
func (s *Session) Rewrite(q *Queue, global Options) error {
	var all bytes.Buffer
	out := json.NewEncoder(&all)
	public, _ := global.WithoutSecrets()
	lines, err := 0, error(nil)
	if len(public) > 0 {
		lines, err = 1, out.Encode(line{Global: public})
	}
	for _, j := range slices.Concat(q.stopped, q.active, q.waiting) {
		saved := j.saved()
		err = errors.Join(err, out.Encode(line{Job: &saved, At: -1}))
		lines++
	}
	if err != nil {
		return err
	}
	if s.file != nil {
		_ = s.file.Close() // Windows replaces no file that is open, and all that it holds is in the new one
	}
	if err = rewrite.Private(s.name, all.Bytes()); err == nil {
		s.lines, s.size = lines, int64(all.Len())
	}
	file, opening := os.OpenFile(s.name, os.O_WRONLY|os.O_APPEND, 0o600)
	s.file = file // nil, to which nothing can be written, if that failed
	return errors.Join(err, opening)
}

// Close closes the file.
func (s *Session) Close() error { return errors.Join(s.file.Close(), filelock.Close(s.lock)) }
