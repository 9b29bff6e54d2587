package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/mlget/mlget/internal/filelock"
)

// ErrBook says that what has been used of data plans cannot be told, or not be kept.
var ErrBook = errors.New("the use of data plans")

// Book is the file in which the use of all plans is kept, day by day.
type Book struct {
	dir  string // which is made
	zone *time.Location
}

const (
	bookName = "plans.json"
	lockName = "plans.lock"
	newName  = "plans.json.new" // it takes bookName's place

	schema   = 1
	maxBook  = 1 << 20 // bytes; 100 plans of 100 days are 400 KB
	maxPlans = 100
	maxDays  = 100 // of a plan; a month and the one before are 62

	// patience is how long another program is waited for. It has the book for as long as a
	// sync takes, which on a slow card is a second. Chosen by hand.
	patience   = 5 * time.Second
	lockPause  = 5 * time.Millisecond
	dirMode    = 0o700
	bookRights = 0o600
)

// NewBook is the book in a directory, for the days of a zone.
func NewBook(dir string, zone *time.Location) *Book { return &Book{dir: dir, zone: zone} }

// Open is the book of whoever runs this program.
func Open(zone *time.Location) (*Book, error) {
	dir, err := Dir(runtime.GOOS, os.Getenv)
	if err != nil {
		return nil, err
	}
	return NewBook(dir, zone), nil
}

// Path is the book's file.
func (b *Book) Path() string { return filepath.Join(b.dir, bookName) }

// Today is the day in the book's zone.
func (b *Book) Today() Day { return DayOf(Now(b.zone)) }

// Dir is the directory for what programs remember: XDG's state directory, on Windows that of
// local data. Android has no home but Termux's, or one that the caller names.
func Dir(goos string, env func(string) string) (string, error) {
	state, home := env("XDG_STATE_HOME"), env("HOME")
	switch {
	case filepath.IsAbs(state):
	case goos == "windows" && env("LOCALAPPDATA") != "":
		state = env("LOCALAPPDATA")
	case filepath.IsAbs(home) && home != "/":
		state = filepath.Join(home, ".local", "state")
	default:
		return "", fmt.Errorf("%w: there is no home directory to keep it in: XDG_STATE_HOME=DIR names one", ErrBook)
	}
	return filepath.Join(state, "mlget"), nil
}

// account is what the book has of one plan.
type account struct {
	Link string        `json:"link"` // as --link names it
	Plan Plan          `json:"plan"` // as last told
	Days map[Day]int64 `json:"days"` // bytes used, or lent
}

// pages is the whole book.
type pages struct {
	Schema int       `json:"schema"`
	Plans  []account `json:"plans"`
}

// parsePages reads a book, which anybody may have written.
func parsePages(text []byte) (p pages, err error) {
	if err := json.Unmarshal(text, &p); err != nil {
		return pages{}, errors.New("it is damaged")
	}
	if p.Schema != schema {
		return pages{}, fmt.Errorf("it is of another version of mlget (schema %d)", p.Schema)
	}
	if len(p.Plans) > maxPlans {
		return pages{}, errors.New("it has too many plans")
	}
	seen := make(map[string]bool)
	for _, a := range p.Plans {
		if seen[a.Link] || !a.Plan.valid() || len(a.Days) > maxDays+1 {
			return pages{}, errors.New("it is damaged")
		}
		seen[a.Link] = true
		for day, n := range a.Days {
			if _, err := ParseDay(string(day)); err != nil || n < 0 {
				return pages{}, errors.New("it is damaged")
			}
		}
	}
	return p, nil
}

// of is the account of a link, which is opened if it is not there.
func (p *pages) of(link string) (*account, error) {
	at := slices.IndexFunc(p.Plans, func(a account) bool { return a.Link == link })
	if at < 0 {
		if len(p.Plans) == maxPlans {
			return nil, errors.New("it has too many plans")
		}
		p.Plans = append(p.Plans, account{Link: link})
		at = len(p.Plans) - 1
	}
	a := &p.Plans[at]
	if a.Days == nil {
		a.Days = make(map[Day]int64)
	}
	return a, nil
}

// used is how many bytes were used since a day, and on days that are still to come: where a
// clock was set back, nobody knows which days those were.
func (a *account) used(since Day) (n int64) {
	for day, bytes := range a.Days {
		if day >= since {
			n += min(bytes, math.MaxInt64-n)
		}
	}
	return n
}

// add books bytes on a day; less than 0 gives some back.
func (a *account) add(day Day, n int64) {
	before := a.Days[day]
	if n > 0 {
		n = min(n, math.MaxInt64-before)
	}
	if a.Days[day] = max(0, before+n); a.Days[day] == 0 {
		delete(a.Days, day)
	}
	for len(a.Days) > maxDays {
		oldest := day
		for d := range a.Days {
			oldest = min(oldest, d)
		}
		delete(a.Days, oldest)
	}
}

// Lease is what a program has booked of a plan and has not used yet. Use makes it less; below
// 0 it is what was used without having been booked.
type Lease struct {
	Rest int64
	day  Day // on which it was booked
}

// leaseShare is what part of what is left one lease takes at most, down to leaseLeast: other
// programs may need the rest. Chosen by hand.
const (
	leaseShare = 8
	leaseLeast = 64 << 10
)

// Renew settles a lease and books it anew: up to want bytes, and no more than a share of what
// is left today. left is what is left beyond that. With want 0 the lease ends.
func (b *Book) Renew(link string, p Plan, l *Lease, want int64) (left int64, err error) {
	next := Lease{}
	err = b.change(func(book *pages) error {
		a, err := book.of(link)
		if err != nil {
			return err
		}
		a.Plan = p
		today := b.Today()
		rest := l.Rest
		if rest > 0 {
			a.add(l.day, -rest)
		} else {
			a.add(today, -rest)
		}
		left = max(0, p.Bytes-a.used(p.Since(today)))
		next = Lease{min(want, left, max(left/leaseShare, leaseLeast)), today}
		left -= next.Rest
		a.add(today, next.Rest)
		return nil
	})
	if err != nil {
		return 0, err
	}
	*l = next
	return left, nil
}

// Status is where a plan stands.
type Status struct {
	Link  string `json:"-"` // as --link names it, raw
	Plan  Plan   `json:"plan"`
	Used  int64  `json:"used_bytes"`
	Left  int64  `json:"left_bytes"`
	Until Day    `json:"until"`          // the day on which it begins anew
	Ahead bool   `json:"ahead,omitzero"` // some of Used is booked on days that are still to come
}

// Statuses are those of all plans that were ever used.
func (b *Book) Statuses() (list []Status, err error) {
	book, err := b.read()
	if err != nil {
		return nil, err
	}
	today := b.Today()
	for _, a := range book.Plans {
		s := Status{Link: a.Link, Plan: a.Plan, Used: a.used(a.Plan.Since(today)), Until: a.Plan.Until(today)}
		s.Left = max(0, a.Plan.Bytes-s.Used)
		for day := range a.Days {
			s.Ahead = s.Ahead || day > a.Plan.Until(today)
		}
		list = append(list, s)
	}
	return list, nil
}

// Left is what is left of a link's plan now.
func (b *Book) Left(link string, p Plan) (int64, error) {
	book, err := b.read()
	if err != nil {
		return 0, err
	}
	a, err := book.of(link)
	if err != nil {
		return 0, b.error(err)
	}
	return max(0, p.Bytes-a.used(p.Since(b.Today()))), nil
}

// error says which file it is about.
func (b *Book) error(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return fmt.Errorf("%w (%s): %w", ErrBook, b.Path(), err)
}

// read reads the book; one that is not there is empty.
func (b *Book) read() (pages, error) {
	text, err := readRegular(b.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return pages{Schema: schema}, nil
	}
	p := pages{}
	if err == nil {
		p, err = parsePages(text)
	}
	if err != nil {
		return pages{}, b.error(err)
	}
	return p, nil
}

// readRegular reads a file that is one, and not too large for a book.
func readRegular(name string) ([]byte, error) {
	if info, err := os.Stat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("it is no file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	text, err := io.ReadAll(io.LimitReader(f, maxBook+1))
	if err == nil && len(text) > maxBook {
		err = errors.New("it is too large")
	}
	return text, err
}

// change lets do change the book, while no other program does.
func (b *Book) change(do func(*pages) error) error {
	if err := os.MkdirAll(b.dir, dirMode); err != nil {
		return b.error(err)
	}
	lock, err := b.lock()
	if err != nil {
		return b.error(err)
	}
	defer filelock.Close(lock) //nolint:errcheck // nothing was written to it
	book, err := b.read()
	if err != nil {
		return err
	}
	if err = do(&book); err == nil {
		err = b.write(&book)
	}
	if err != nil {
		return b.error(err)
	}
	return nil
}

// lock waits until no other program has the book.
func (b *Book) lock() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(b.dir, lockName), os.O_RDWR|os.O_CREATE, bookRights)
	if err != nil {
		return nil, err
	}
	for waited := time.Duration(0); ; waited += lockPause {
		if err = filelock.Take(f); err == nil {
			return f, nil
		}
		if waited >= patience {
			_ = f.Close() // the first error counts
			return nil, err
		}
		time.Sleep(lockPause)
	}
}

// write puts the book in the place of the one before, all of it or nothing.
func (b *Book) write(book *pages) error {
	text, err := json.Marshal(book)
	if err != nil {
		return err
	}
	name := filepath.Join(b.dir, newName)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, bookRights)
	if err != nil {
		return err
	}
	if _, err = f.Write(append(text, '\n')); err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return filelock.Patiently(func() error { return os.Rename(name, b.Path()) })
}
