package term

import (
	"encoding/json"
	"strings"
	"testing"
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
