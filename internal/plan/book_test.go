package plan

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// lives is the variable that makes the test's program one that uses a book until it is killed.
const lives = "MLGET_TEST_BOOK"

var month = Plan{Bytes: 1 << 20, Period: Monthly, From: 1} //nolint:gochecknoglobals // a constant

func newBook(t testing.TB) *Book {
	t.Helper()
	return NewBook(filepath.Join(t.TempDir(), "state", "mlget"), time.UTC)
}

// renew renews a lease, and wants what it is then and what is left beside it.
func renew(t *testing.T, b *Book, l *Lease, want, rest, left int64) {
	t.Helper()
	got, err := b.Renew("rmnet0", month, l, want)
	if err != nil || l.Rest != rest || got != left {
		t.Errorf("a lease of %d and %d left, %v, want %d and %d", l.Rest, got, err, rest, left)
	}
}

func TestLeasesAreBooked(t *testing.T) {
	b := newBook(t)
	const whole, share = 1 << 20, 1 << 17
	var one, two Lease
	renew(t, b, &one, 1<<30, share, whole-share)
	renew(t, b, &two, 1000, 1000, whole-share-1000)
	two.Rest -= 1500 // more than was booked
	renew(t, b, &two, 0, 0, whole-share-1500)
	one.Rest -= 500
	renew(t, b, &one, 0, 0, whole-2000)
	again := NewBook(b.dir, time.UTC) // by another run
	if left, err := again.Left("rmnet0", month); left != whole-2000 || err != nil {
		t.Errorf("%d bytes are left, %v", left, err)
	}
	if left, err := again.Left("rmnet1", month); left != whole || err != nil {
		t.Errorf("%d bytes are left of another link's, %v", left, err)
	}
	all, err := again.Statuses()
	if err != nil || len(all) != 1 || all[0].Link != "rmnet0" || all[0].Plan != month || all[0].Used != 2000 || all[0].Left != whole-2000 || all[0].Ahead {
		t.Errorf("%+v, %v", all, err)
	}
	info, err := os.Stat(b.Path())
	if err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("%v, %v", info, err)
	}
}

// TestPeriodsBeginAnew: in a bubble, whose clock begins at the year 2000.
func TestPeriodsBeginAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBook(t.TempDir(), time.FixedZone("", 2*3600)) // it is 2:00
		use := func(n int64) {
			t.Helper()
			l := Lease{Rest: -n}
			if _, err := b.Renew("a", month, &l, 0); err != nil {
				t.Error(err)
			}
		}
		left := func(p Plan, want int64) {
			t.Helper()
			if got, err := b.Left("a", p); got != want || err != nil {
				t.Errorf("on %s %d bytes are left of %+v, %v, want %d", b.Today(), got, p, err, want)
			}
		}
		day, week := Plan{1000, Daily, 0}, Plan{1000, Weekly, 0}
		mid := Plan{1000, Monthly, 17}
		use(100) // Saturday, 1 January 2000
		left(day, 900)
		time.Sleep(22*time.Hour - time.Second)
		left(day, 900)
		time.Sleep(time.Second)
		left(day, 1000)
		left(week, 900)
		use(10) // on Sunday
		time.Sleep(24 * time.Hour)
		left(week, 1000)
		left(mid, 890)
		time.Sleep(14 * 24 * time.Hour)
		left(mid, 1000) // 17 January
		left(Plan{1000, Monthly, 18}, 890)
		left(Plan{1000, Monthly, 1}, 890)
		time.Sleep(14 * 24 * time.Hour)
		left(mid, 1000)
		left(Plan{1000, Monthly, 31}, 1000)
		left(Plan{1000, Monthly, 1}, 890)
		time.Sleep(24 * time.Hour)
		left(Plan{1000, Monthly, 1}, 1000) // 1 February
	})
}

// TestALeaseOfYesterday: what is left of it is not used in the next period.
func TestALeaseOfYesterday(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBook(t.TempDir(), time.UTC)
		day := Plan{1 << 20, Daily, 0}
		var l Lease
		if _, err := b.Renew("a", day, &l, 1000); err != nil {
			t.Fatal(err)
		}
		l.Rest -= 100
		time.Sleep(24 * time.Hour)
		left, err := b.Renew("a", day, &l, 1000)
		if err != nil || l.Rest != 1000 || left != 1<<20-1000 {
			t.Errorf("a lease of %d, %d left, %v", l.Rest, left, err)
		}
		book, err := b.read()
		if err != nil || len(book.Plans) != 1 || fmt.Sprint(book.Plans[0].Days) != "map[2000-01-01:100 2000-01-02:1000]" {
			t.Errorf("%+v, %v", book, err)
		}
	})
}

// TestAClockThatIsSet: what was booked on days to come counts, wherever the clock was wrong.
func TestAClockThatIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBook(t.TempDir(), time.UTC)
		write(t, b, `{"schema":1,"plans":[{"link":"a","plan":{"bytes":1000,"period":"month","from":1},"days":{"1999-12-31":1,"2000-01-01":10,"2038-01-19":200}}]}`)
		all, err := b.Statuses()
		if err != nil || len(all) != 1 || all[0].Left != 790 || !all[0].Ahead || all[0].Until != "2000-02-01" {
			t.Errorf("%+v, %v", all, err)
		}
		// So many days pass that old ones are forgotten; what is ahead is not.
		for range 2 * maxDays {
			if _, err := b.Renew("a", month, &Lease{Rest: -1}, 0); err != nil {
				t.Fatal(err)
			}
			time.Sleep(24 * time.Hour)
		}
		book, err := b.read()
		if err != nil {
			t.Fatal(err)
		}
		if days := book.Plans[0].Days; len(days) != maxDays || days["2038-01-19"] != 200 {
			t.Errorf("%v", days)
		}
	})
}

func write(t testing.TB, b *Book, text string) {
	t.Helper()
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.Path(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestADamagedBookIsLeftAlone: nobody begins at 0 since nothing can be read.
func TestADamagedBookIsLeftAlone(t *testing.T) {
	const account = `{"link":"a","plan":{"bytes":1000,"period":"month","from":1},"days":{"2026-11-29":1}}`
	many := make([]string, 0, maxPlans+1)
	for i := range maxPlans + 1 {
		many = append(many, strings.ReplaceAll(account, `"a"`, fmt.Sprintf(`"a%d"`, i)))
	}
	long := strings.Repeat(" ", maxBook)
	for name, text := range map[string]string{
		"empty":          "",
		"cut off":        `{"schema":1,"plans":[` + account[:40],
		"of the future":  `{"schema":2}`,
		"without schema": `{"plans":[` + account + `]}`,
		"twice":          `{"schema":1,"plans":[` + account + "," + account + `]}`,
		"negative":       `{"schema":1,"plans":[` + strings.ReplaceAll(account, `:1}}`, `:-1}}`) + `]}`,
		"too large":      `{"schema":1,"plans":[` + strings.ReplaceAll(account, `:1}}`, `:99999999999999999999}}`) + `]}`,
		"no such day":    `{"schema":1,"plans":[` + strings.ReplaceAll(account, `11-29`, `02-30`) + `]}`,
		"no such period": `{"schema":1,"plans":[` + strings.ReplaceAll(account, `month`, `year`) + `]}`,
		"no such plan":   `{"schema":1,"plans":[` + strings.ReplaceAll(account, `1000`, `0`) + `]}`,
		"many":           `{"schema":1,"plans":[` + strings.Join(many, ",") + `]}`,
		"long":           `{"schema":1,"plans":[` + account + `]}` + long,
		"something else": "PK\x03\x04",
	} {
		b := newBook(t)
		write(t, b, text)
		_, renewing := b.Renew("a", month, &Lease{}, 1)
		_, looking := b.Left("a", month)
		_, listing := b.Statuses()
		for _, err := range []error{renewing, looking, listing} {
			if !errors.Is(err, ErrBook) || strings.Count(err.Error(), b.Path()) != 1 {
				t.Errorf("%s: %v", name, err)
			}
		}
		if is, err := os.ReadFile(b.Path()); string(is) != text || err != nil {
			t.Errorf("%s: it was changed", name)
		}
	}
	// A sum of days may be more than a number holds.
	b := newBook(t)
	write(t, b, `{"schema":1,"plans":[{"link":"a","plan":{"bytes":1000,"period":"month","from":1},"days":{"9998-01-01":9223372036854775807,"9998-01-02":9223372036854775807}}]}`)
	if left, err := b.Left("a", month); left != 0 || err != nil {
		t.Errorf("%d bytes are left, %v", left, err)
	}
	if _, err := b.Renew("a", month, &Lease{Rest: -9}, 0); err != nil {
		t.Error(err)
	}
}

// TestNoFileIsRead: a directory, or what would be waited for, stands where the book is to be.
func TestNoFileIsRead(t *testing.T) {
	b := newBook(t)
	if err := os.MkdirAll(b.Path(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Renew("a", month, &Lease{}, 1); !errors.Is(err, ErrBook) {
		t.Error(err)
	}
	b = NewBook(filepath.Join(t.TempDir(), "file"), time.UTC)
	if err := os.WriteFile(b.dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Renew("a", month, &Lease{}, 1); !errors.Is(err, ErrBook) {
		t.Error(err)
	}
}

func TestDir(t *testing.T) {
	abs := func(elem ...string) string { return filepath.Join(append([]string{t.TempDir()}, elem...)...) }
	home, state := abs(), abs()
	for _, c := range []struct {
		goos, home, state, local, want string
	}{
		{"linux", home, "", "", filepath.Join(home, ".local", "state", "mlget")},
		{"android", home, "", "", filepath.Join(home, ".local", "state", "mlget")},
		{"linux", home, state, "", filepath.Join(state, "mlget")},
		{"linux", "", state, "", filepath.Join(state, "mlget")},
		{"linux", home, "relative", "", filepath.Join(home, ".local", "state", "mlget")}, // the specification ignores it
		{"windows", home, "", state, filepath.Join(state, "mlget")},
		{"android", "", "", "", ""},
		{"android", "/", "", "", ""}, // of adb's shell
		{"linux", "here", "", "", ""},
	} {
		env := map[string]string{"HOME": c.home, "XDG_STATE_HOME": c.state, "LOCALAPPDATA": c.local}
		got, err := Dir(c.goos, func(name string) string { return env[name] })
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
}

// TestProgramsAtOnce: several use one plan until nothing is left, some are killed meanwhile,
// and what all have used is never more than the plan. What was used each has written down.
func TestProgramsAtOnce(t *testing.T) {
	if dir := os.Getenv(lives); dir != "" {
		spendAll(t, dir)
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := newBook(t)
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for i := range 6 {
		cmd := exec.Command(exe, "-test.run=^TestProgramsAtOnce$")
		cmd.Env = append(os.Environ(), lives+"="+b.dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i < 3 {
			wait.Go(func() {
				time.Sleep(time.Duration(100+50*i) * time.Millisecond)
				_ = cmd.Process.Kill() // it may have ended
			})
		}
		wait.Go(func() {
			if err := cmd.Wait(); err != nil && i >= 3 {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	written, err := filepath.Glob(filepath.Join(b.dir, "used-*"))
	if err != nil || len(written) < 3 {
		t.Fatalf("%d programs have used something, %v", len(written), err)
	}
	var used int64
	for _, name := range written {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		used += info.Size() // a byte for each
	}
	left, err := b.Left("a", month)
	if err != nil || left != 0 || used > month.Bytes {
		t.Errorf("%d bytes were used of %d, and %d are left, %v", used, month.Bytes, left, err)
	}
	// Each that was killed has lost no more than a lease.
	if lost := month.Bytes - used; lost > 3*month.Bytes/leaseShare {
		t.Errorf("%d bytes were used of %d", used, month.Bytes)
	}
	if leftover, err := filepath.Glob(filepath.Join(b.dir, "*")); err != nil || slices.ContainsFunc(leftover, func(name string) bool {
		return !strings.Contains(name, "used-") && !strings.HasPrefix(filepath.Base(name), "plans.")
	}) {
		t.Errorf("left: %q, %v", leftover, err)
	}
}

// spendAll uses a plan as a Keeper does, and writes a byte for each that it uses.
func spendAll(t *testing.T, dir string) {
	b := NewBook(dir, time.UTC)
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("used-%d", os.Getpid())), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // a test's
	var l Lease
	for {
		left, err := b.Renew("a", month, &l, 16<<10)
		if err != nil {
			t.Fatal(err)
		}
		if left == 0 && l.Rest == 0 {
			return
		}
		for l.Rest > 8<<10 || left == 0 && l.Rest > 0 {
			n, err := f.Write(make([]byte, min(l.Rest, 1000)))
			if err != nil {
				t.Fatal(err)
			}
			l.Rest -= int64(n)
		}
	}
}

// TestABookThatIsHeld: another program has it for longer than anybody waits.
func TestABookThatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBook(t.TempDir(), time.UTC)
		lock, err := b.lock()
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		time.AfterFunc(time.Second, func() { _ = lock.Close() })
		if _, err := b.Renew("a", month, &Lease{}, 1); err != nil || time.Since(begin) < time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		held, err := b.lock()
		if err != nil {
			t.Fatal(err)
		}
		defer held.Close() //nolint:errcheck // a test's
		begin = time.Now()
		if _, err := b.Renew("a", month, &Lease{}, 1); !errors.Is(err, ErrBook) || time.Since(begin) > patience+time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

// TestAFullDisk: what cannot be written leaves the book as it was.
func TestAFullDisk(t *testing.T) {
	b := newBook(t)
	renew(t, b, &Lease{}, 1000, 1000, 1<<20-1000)
	before, err := os.ReadFile(b.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(b.dir, newName), 0o700); err != nil { // it cannot be opened
		t.Fatal(err)
	}
	l := Lease{Rest: 5}
	if _, err := b.Renew("rmnet0", month, &l, 1000); !errors.Is(err, ErrBook) || !errors.Is(err, syscall.EISDIR) && os.PathSeparator == '/' {
		t.Error(err)
	}
	if after, err := os.ReadFile(b.Path()); string(after) != string(before) || err != nil {
		t.Errorf("%s, %v", after, err)
	}
	if l.Rest != 5 {
		t.Errorf("a lease of %d, which nobody has booked", l.Rest)
	}
}

func FuzzBook(f *testing.F) {
	f.Add([]byte(`{"schema":1,"plans":[{"link":"a","plan":{"bytes":1000,"period":"month","from":17},"days":{"2026-11-29":1}}]}`))
	f.Add([]byte(`{"schema":1,"plans":[{"link":"\u001b[2J","plan":{"bytes":1,"period":"day"},"days":null},{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b := NewBook(t.TempDir(), time.UTC)
		write(t, b, string(text))
		all, err := b.Statuses()
		if err != nil && !errors.Is(err, ErrBook) {
			t.Error(err)
		}
		for _, s := range all {
			if s.Used < 0 || s.Left < 0 || s.Left > s.Plan.Bytes {
				t.Errorf("%+v", s)
			}
		}
		var l Lease
		left, failed := b.Renew("a", month, &l, 1000)
		if (failed == nil) != (err == nil) && len(all) < maxPlans {
			t.Errorf("%v, then %v", err, failed)
		}
		if left < 0 || l.Rest < 0 || left+l.Rest > month.Bytes {
			t.Errorf("%d, %d left", l.Rest, left)
		}
		if _, err := b.Statuses(); failed == nil && err != nil {
			t.Errorf("what was written cannot be read: %v", err)
		}
	})
}
