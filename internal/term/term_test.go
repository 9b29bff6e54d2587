package term

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"plain name.tar.gz", "plain name.tar.gz"},
		{`C:\new\file`, `C:\new\file`},
		{"grün 文件 😀", "grün 文件 😀"},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"\x1b]0;title\a", `\x1b]0;title\x07`},
		{"a\r\nb\tc", `a\x0d\nb\tc`},
		{"del\x7f", `del\x7f`},
		{"c1 \u009b31m", `c1 \x9b31m`},
		{"raw c1 \x9b31m", `raw c1 \x9b31m`},
		{"exe\u202egpj.scr", `exe\u202egpj.scr`},
		{"line\u2028sep", `line\u2028sep`},
		{"tag \U000e0041", `tag \U000e0041`},
		{"real \ufffd stays", "real \ufffd stays"},
		{"cut \xe6\x96", `cut \xe6\x96`},
	} {
		if got := Printable(c.in); got != c.want {
			t.Errorf("Printable(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"a", "\x1b[2J", "\u009b", "\xff\xfe", "\u202e", "\n", "a\x00b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Printable(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q gives invalid UTF-8 %q", s, got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Fatalf("%q gives %q: byte %d is not printable", s, got, i)
		}
		if Printable(got) != got {
			t.Fatalf("%q is escaped twice", got)
		}
	})
}

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		n    int64
		want string
	}{
		{0, "0 B"},
		{1, "1 B"},
		{1023, "1023 B"},
		{1024, "1.0 KiB"},
		{1048524, "1023.9 KiB"},
		{1048575, "1.0 MiB"},
		{250_000_000, "238.4 MiB"},
		{5 << 30, "5.0 GiB"},
		{math.MaxInt64, "8.0 EiB"},
		{-1, "-1 B"},
		{math.MinInt64, "-8.0 EiB"},
	} {
		if got := Bytes(c.n); got != c.want {
			t.Errorf("Bytes(%d) = %q, want %q", c.n, got, c.want)
		}
	}
}

func TestMbit(t *testing.T) {
	for _, c := range []struct {
		rate float64
		want string
	}{{0, "0.0 Mbit/s"}, {125_000, "1.0 Mbit/s"}, {10_250_000, "82.0 Mbit/s"}} {
		if got := Mbit(c.rate); got != c.want {
			t.Errorf("Mbit(%v) = %q, want %q", c.rate, got, c.want)
		}
	}
}

func TestClock(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{-time.Second, "0s"},
		{0, "0s"},
		{9400 * time.Millisecond, "9s"},
		{59600 * time.Millisecond, "1m00s"},
		{125 * time.Second, "2m05s"},
		{3*time.Hour + 7*time.Minute, "3h07m"},
		{98 * time.Hour, "4d02h"},
	} {
		if got := Clock(c.d); got != c.want {
			t.Errorf("Clock(%v) = %q, want %q", c.d, got, c.want)
		}
	}
}

func FuzzHarmlessJSON(f *testing.F) {
	for _, s := range []string{"a", "\x1b[2J", "\u009b31m", "\x7f", "\u202egpj", "tag \U000e0041", "grün 文件 😀", "\xff", `\u202e`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		data, err := json.MarshalIndent([]string{s}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got := HarmlessJSON(data)
		if i := strings.IndexFunc(string(got), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
			t.Fatalf("%q gives %q: byte %d is not printable", s, got, i)
		}
		var before, after []string
		if err := json.Unmarshal(data, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(got, &after); err != nil || before[0] != after[0] {
			t.Fatalf("%q became %q, %v", before, after, err)
		}
	})
}
