package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/mlget/mlget/internal/filelock"
	"github.com/mlget/mlget/internal/identity"
)

// finishedName is the file in the directory of a job in which it remembers ETags. A name
// that a server or a list chooses does not begin with a dot.
const finishedName = ".mlget-finished"

// finishedHead is the first line of that file.
const finishedHead = `{"mlget_finished":1}` + "\n"

// finishedFile is a line: a file that was complete, of an object without Last-Modified. It
// holds no URL.
type finishedFile struct {
	Name string `json:"name"` // below the job's directory, with slashes
	Size int64  `json:"size_bytes"`
	ETag string `json:"etag"` // as in the header
}

// identity is the line's description of the object.
func (l finishedFile) identity() identity.Identity {
	return identity.Identity{Size: l.Size, ETag: l.ETag}
}

// of says whether the file may be the object. A date, where the server has come to tell one,
// is for others to compare.
func (l finishedFile) of(id identity.Identity) bool {
	_, dated := id.Modified()
	return dated || !differ(l.identity(), identity.Identity{Size: id.Size, ETag: id.ETag})
}

// valid says whether the line may be believed.
func (l finishedFile) valid() bool {
	const longestName = 4096 // bytes; PATH_MAX
	return l.Name != "" && len(l.Name) <= longestName && l.Size >= 0 && l.ETag != "" && len(l.ETag) <= maxValidator &&
		utf8.ValidString(l.Name) && utf8.ValidString(l.ETag)
}

// finished is a job's memory of its files between two runs: the ETag with which each file was
// complete whose server gives no date. Size alone would not show that the server has another
// object by now. This memory can only speak against a file: at worst it is fetched again. So no
// failure here fails a download.
type finished struct {
	mu     sync.Mutex
	looked bool
	closed bool
	of     map[string]finishedFile
	file   *os.File // locked, to be added to; nil: nothing is to be written
	length int64    // of file, bytes
}

// remembered gives what is remembered of the file called name, below the run's directory.
func (r *Run) remembered(path string) (finishedFile, bool) {
	name, ok := r.below(path)
	if !ok {
		return finishedFile{}, false
	}
	m := &r.finished
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.looked {
		m.looked = true
		if base := r.opened(); base != nil {
			_, b, _ := base.readOurs(filepath.Join(r.dir, finishedName)) // what cannot be read says nothing
			m.of, _ = decodeFinished(b)
		}
	}
	l, ok := m.of[name]
	return l, ok
}

// remember notes that the file called path, of size bytes, is the object.
func (r *Run) remember(path string, size int64, id identity.Identity) {
	_, dated := id.Modified()
	name, ok := r.below(path)
	l := finishedFile{Name: name, Size: size, ETag: id.ETag}
	if !ok || dated || !l.valid() {
		return
	}
	if was, ok := r.remembered(path); ok && was == l {
		return
	}
	m := &r.finished
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = make(map[string]finishedFile)
	}
	if base := r.opened(); m.file == nil && base != nil && !m.closed {
		m.file, m.length = openFinished(base, m.of)
	}
	m.of[name] = l
	line, err := json.Marshal(l)
	if err != nil || m.file == nil || m.length+int64(len(line)) >= maxJournal {
		return
	}
	n, _ := m.file.Write(append(line, '\n'))
	m.length += int64(n)
}

// below is the name of a path in the run's directory.
func (r *Run) below(path string) (name string, ok bool) {
	if r == nil {
		return "", false
	}
	name, err := filepath.Rel(filepath.Clean(r.dir), path)
	return filepath.ToSlash(name), err == nil
}

// openFinished opens the file to add to it, and adds its entries to known. It returns nil if
// the file is another user's, in use by another run, or cannot be made.
func openFinished(dir *directory, known map[string]finishedFile) (*os.File, int64) {
	path := filepath.Join(dir.path, finishedName)
	file, current, err := dir.openLocked(path, os.O_APPEND|os.O_CREATE|os.O_EXCL, false)
	if errors.Is(err, fs.ErrExist) {
		file, current, err = dir.openLocked(path, os.O_APPEND, false)
	}
	if err != nil {
		return nil, 0
	}
	b, err := io.ReadAll(io.LimitReader(file, maxJournal+1))
	there, lines := decodeFinished(b)
	if err != nil || !current || lines < 0 {
		_ = filelock.Close(file) // nothing was written
		return nil, 0
	}
	for name, l := range there {
		if _, ok := known[name]; !ok {
			known[name] = l
		}
	}
	if tidy := lines <= 2*len(there)+64 && bytes.HasSuffix(b, []byte("\n")) && len(b) <= maxJournal; tidy {
		return file, int64(len(b))
	}
	length, err := rewriteFinished(file, there)
	if err != nil {
		_ = filelock.Close(file) // it is damaged; it is written again when there is room
		return nil, 0
	}
	return file, length
}

// rewriteFinished makes of what was added to a file over many runs one line a name.
func rewriteFinished(file *os.File, of map[string]finishedFile) (int64, error) {
	if err := file.Truncate(0); err != nil {
		return 0, err
	}
	b := []byte(finishedHead)
	for _, l := range of { // in any order
		line, err := json.Marshal(l)
		if err != nil || len(b)+len(line) >= maxJournal {
			break
		}
		b = append(append(b, line...), '\n')
	}
	n, err := file.Write(b)
	return int64(n), err
}

// decodeFinished returns the lines of a file of finished files, the latest of each name, and
// how many there are; -1: not mlget's, or of another version. Invalid lines are skipped: a
// killed run may have left half of one.
func decodeFinished(b []byte) (of map[string]finishedFile, lines int) {
	of = make(map[string]finishedFile)
	if len(b) == 0 {
		return of, 0
	}
	text, ok := strings.CutPrefix(string(b), finishedHead)
	if !ok {
		return of, -1
	}
	for line := range strings.SplitSeq(text, "\n") {
		var l finishedFile
		if json.Unmarshal([]byte(line), &l) == nil && l.valid() {
			of[l.Name] = l
		}
		lines++
	}
	return of, lines
}

// close makes what was added durable.
func (m *finished) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.file != nil {
		_ = m.file.Sync() // else the next run goes by sizes
		_ = filelock.Close(m.file)
		m.file = nil
	}
}
