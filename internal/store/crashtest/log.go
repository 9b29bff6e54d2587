package crashtest

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// Object numbers a file or directory, whatever it is called, in the order in which
// they came to exist.
type Object int

// Kind is the kind of a call.
type Kind uint8

// The calls that change something, or make changes durable. The others are of no
// concern after a crash.
const (
	Enter    Kind = iota // Name leads to Obj: it was created or linked there
	Rename               // From no longer leads to Obj, Name does
	Leave                // Name leads to nothing any more
	Write                // Data at Off
	Truncate             // the length is Off
	Sync                 // fsync or fdatasync of Obj, a file or a directory
	SyncAll              // syncfs
	Mark                 // the program says something to the test: Name
)

func (k Kind) String() string {
	return [...]string{"enter", "rename", "leave", "write", "truncate", "sync", "sync all", "mark"}[k]
}

// Never is the end of a call that had not returned when the program ended.
const Never = math.MaxInt

// Op is one call. Names are slash-separated and relative to the directory that is
// watched, which is "." itself.
type Op struct {
	Kind       Kind
	Obj        Object
	From, Name string
	Off        int64  // bytes
	Data       []byte // what was written
	Begun      int    // the moment at which it was made, counted in calls' beginnings and ends
	Ended      int    // the moment at which it had returned; Never: it had not
}

func (o Op) String() string {
	s := fmt.Sprintf("%d-%d %v #%d", o.Begun, o.Ended, o.Kind, o.Obj)
	if o.Ended == Never {
		s = fmt.Sprintf("%d- %v #%d", o.Begun, o.Kind, o.Obj)
	}
	switch o.Kind {
	case Rename:
		return s + " " + o.From + " " + o.Name
	case Enter, Leave, Mark:
		return s + " " + o.Name
	case Write:
		return fmt.Sprintf("%s %d bytes at %d", s, len(o.Data), o.Off)
	case Truncate:
		return fmt.Sprintf("%s to %d", s, o.Off)
	case Sync, SyncAll:
	}
	return s
}

// Log is a program's calls on a directory.
type Log struct {
	Ops     []Op
	Moments int // how many there are; a crash can be before each, and after the last

	content map[Object][]byte // of the files that were there, durable, at the beginning
	isDir   map[Object]bool
	names   map[string]Object // at the beginning
	objects int
}

// newLog looks at what there is in the directory root before the program begins.
// All of that is on disk.
func newLog(root string) (*Log, error) {
	l := &Log{content: map[Object][]byte{}, isDir: map[Object]bool{}, names: map[string]Object{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		obj := l.object()
		l.names[filepath.ToSlash(name)] = obj
		if d.IsDir() {
			l.isDir[obj] = true
			return nil
		}
		l.content[obj], err = os.ReadFile(path)
		return err
	})
	return l, err
}

func (l *Log) object() Object {
	l.objects++
	return Object(l.objects - 1)
}

// Marks gives the words that begin with prefix which the program had said before
// the given moment, without the prefix.
func (l *Log) Marks(prefix string, before int) []string {
	var said []string
	for _, o := range l.Ops {
		if o.Kind != Mark || o.Begun >= before {
			continue
		}
		if rest, ok := strings.CutPrefix(o.Name, prefix); ok {
			said = append(said, rest)
		}
	}
	return said
}

// Turns are the moments at which something other than the bytes of a file has just
// changed, or become durable.
func (l *Log) Turns() []int {
	turns := []int{0}
	for _, o := range l.Ops {
		if o.Kind != Write && o.Kind != Mark && o.Ended != Never {
			turns = append(turns, o.Ended+1)
		}
	}
	return append(turns, l.Moments)
}

// dirOf is the directory that name stands in.
func dirOf(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return "."
}
