package joblist

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// read gives all entries of a list and how it ended, "" for well.
func read(text string) (all []Entry, err string) {
	r := NewReader(strings.NewReader(text))
	for {
		e, ended := r.Next()
		if errors.Is(ended, io.EOF) {
			return all, ""
		}
		if ended != nil {
			return all, ended.Error()
		}
		all = append(all, e)
	}
}

func TestReader(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []Entry
		err  string
	}{
		"nothing":      {"", nil, ""},
		"only remarks": {"# a\n\n   \n#b", nil, ""},
		"one a line": {
			"http://h/a\r\nh/b\n\n# no\n  http://h/c?x=1",
			[]Entry{{Line: 1, URL: "http://h/a"}, {Line: 2, URL: "h/b"}, {Line: 5, URL: "http://h/c?x=1"}},
			"",
		},
		"byte order mark": {"\ufeffhttp://h/a\n", []Entry{{Line: 1, URL: "http://h/a"}}, ""},
		"aria2's": {
			"http://h/a\thttp://i/a\t\thttp://j/a\n  out=b c.bin \n\tdir=x/y\n # no\n  checksum=sha-256=00ff\nhttp://h/z\n out=..\n",
			[]Entry{
				{Line: 1, URL: "http://h/a", Mirrors: 2, Out: "b c.bin", Dir: "x/y", Checksum: "sha-256=00ff"},
				{Line: 6, URL: "http://h/z", Out: ".."},
			},
			"",
		},
		"unknown options once": {
			"http://h/a\n  split=5\n  split=6\n  gid=1\nhttp://h/b\n  split=7\n",
			[]Entry{{Line: 1, URL: "http://h/a", Unknown: []Option{{2, "split"}, {4, "gid"}}}, {Line: 5, URL: "http://h/b"}},
			"",
		},
		"a value with =":    {"h/a\n  out=a=b\n", []Entry{{Line: 1, URL: "h/a", Out: "a=b"}}, ""},
		"option first":      {"\n  out=x\nhttp://h/a\n", nil, "line 2: an option stands before the first URL"},
		"option twice":      {"h/a\n out=x\n out=y\nh/b\n", nil, "line 3: this option was given to the URL already"},
		"option of nothing": {"h/a\nh/b\n out=\n", []Entry{{Line: 1, URL: "h/a"}}, "line 3: this option has no value"},
		"no end of a line":  {"h/a\n" + strings.Repeat("x", maxLine+1), nil, "line 2: it is longer than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(c.text)
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) || err != c.err {
				t.Errorf("got %+v, %q\nwant %+v, %q", got, err, c.want, c.err)
			}
		})
	}
}

// endless is a list of that many lines, made while it is read.
type endless struct {
	lines int
	rest  string
}

func (e *endless) Read(p []byte) (int, error) {
	if e.rest == "" {
		if e.lines == 0 {
			return 0, io.EOF
		}
		e.lines--
		e.rest = fmt.Sprintf("http://example.org/some/directory/file-%08d.bin\n", e.lines)
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func TestReaderKeepsNothing(t *testing.T) {
	r := NewReader(&endless{lines: 100_000})
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for n := 0; ; n++ {
		if _, err := r.Next(); err != nil {
			if n != 100_000 {
				t.Fatalf("%d entries, then %v", n, err)
			}
			break
		}
	}
	if now := heap(); now > before+1<<20 {
		t.Errorf("%d bytes are kept", now-before)
	}
	runtime.KeepAlive(r)
}

func FuzzReader(f *testing.F) {
	f.Add("http://h/a\thttp://i/a\n  out=x\n  checksum=md5=00\nh/b\n")
	f.Add("\ufeff# x\r\n\r\n  dir=/..\n")
	f.Add("a\n\tout=\x00\n\n b = c\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, _ := read(text)
		last := 0
		for _, e := range all {
			if e.Line <= last || e.URL == "" || e.URL[0] == '#' || strings.ContainsAny(e.URL+e.Out+e.Dir+e.Checksum, "\n") {
				t.Fatalf("%+v behind line %d", e, last)
			}
			last = e.Line
		}
		if len(all) > strings.Count(text, "\n")+1 {
			t.Fatalf("%d entries", len(all))
		}
		// Read in small pieces it is the same list.
		again := NewReader(io.LimitReader(&small{text}, int64(len(text))))
		for i := range all {
			if e, err := again.Next(); err != nil || fmt.Sprintf("%+v", e) != fmt.Sprintf("%+v", all[i]) {
				t.Fatalf("entry %d: %+v, %v", i, e, err)
			}
		}
	})
}

// small gives a byte at a time.
type small struct{ text string }

func (s *small) Read(p []byte) (int, error) {
	if s.text == "" || len(p) == 0 {
		return 0, io.EOF
	}
	p[0], s.text = s.text[0], s.text[1:]
	return 1, nil
}

func TestNames(t *testing.T) {
	for name, c := range map[string]struct {
		fold bool
		in   []string
		want []int
	}{
		"all differ":      {false, []string{"a", "b", "A"}, []int{0, 0, 0}},
		"same":            {false, []string{"a", "a", "b", "a"}, []int{0, 1, 0, 2}},
		"number is there": {false, []string{"a", "a.1", "a", "a"}, []int{0, 0, 2, 3}},
		"number comes":    {false, []string{"a", "a", "a.1", "a"}, []int{0, 1, 1, 2}},
		"case matters":    {false, []string{"Makefile", "makefile"}, []int{0, 0}},
		"case folds":      {true, []string{"Makefile", "makefile", "MAKEFILE"}, []int{0, 1, 2}},
		"NFC, NFD":        {false, []string{"\u00e9", "e\u0301"}, []int{0, 0}},
		"NFC, NFD fold":   {true, []string{"\u00e9", "e\u0301", "E\u0301"}, []int{0, 1, 2}},
		"not UTF-8":       {true, []string{"\xff", "\xff", "\xfe"}, []int{0, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			s := Names{Fold: c.fold}
			var got []int
			for _, in := range c.in {
				got = append(got, s.Number(func(n int) string {
					if n == 0 {
						return in
					}
					return fmt.Sprintf("%s.%d", in, n)
				}))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// A hundred thousand files of one name are no hundred thousand times as slow.
func TestNamesOfOneName(t *testing.T) {
	var s Names
	asked := 0
	for i := range 100_000 {
		n := s.Number(func(n int) string {
			asked++
			return fmt.Sprintf("download.%d", n)
		})
		if n != i {
			t.Fatalf("the %dth is number %d", i, n)
		}
	}
	if asked > 300_000 {
		t.Errorf("it was asked for %d names", asked)
	}
}
