//go:build unix

package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

const loader = "/apex/com.android.runtime/bin/linker64"

// file makes a file and gives its name and its inode.
func file(t *testing.T, name, content string) (path string, inode uint64) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	inode, ok := inodeOf(info)
	if !ok {
		t.Fatal("no inode")
	}
	return path, inode
}

// TestArguments: what Go sees as arguments when Android's loader starts the
// program, and what of it is the program's. The forms are those of Google Play's
// Termux, of bionic's loader, and of glibc's under qemu-user.
func TestArguments(t *testing.T) {
	program, inode := file(t, "mlget", "\x7fELF")
	other, _ := file(t, "other", "")
	link := filepath.Join(t.TempDir(), "mlget") // as /data/user/0 is to /data/data
	if err := os.Symlink(filepath.Dir(program), filepath.Dir(link)+"-again"); err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(filepath.Dir(link)+"-again", "mlget")
	maps, _ := file(t, "maps", fmt.Sprintf(`5500000000-5500400000 r--p 00000000 fe:2c %d                     %s
5500400000-5500800000 r-xp 00400000 fe:2c %d                     %s
5501000000-5501002000 rw-p 00000000 00:00 0 
7f7a000000-7f7a040000 r-xp 00000000 fe:00 1234                       %s
`, inode, program, inode, program, loader))
	for name, c := range map[string]struct {
		args    []string
		self    string
		environ string
		want    []string
		path    string
	}{
		"executed":                    {[]string{"mlget", "links"}, program, "", []string{"links"}, program},
		"by the loader":               {[]string{"/system/bin/linker64", program, "links", "--json"}, loader, "", []string{"links", "--json"}, program},
		"by the loader, no arguments": {[]string{"linker64", program}, loader, "", []string{}, program},
		"under the other name":        {[]string{"mlget", again, "URL"}, loader, "", []string{"URL"}, again},
		"Termux's Go has dropped it":  {[]string{program, "links"}, loader, program, []string{"links"}, program},
		"a file as first argument":    {[]string{program, other}, loader, program, []string{other}, program},
		"executed, its own file":      {[]string{"mlget", program}, program, "", []string{program}, program},
		"nothing is known":            {[]string{"mlget", "links"}, loader, "", []string{"links"}, ""},
		"a lie in the environment":    {[]string{"mlget"}, loader, other, []string{}, ""},
		"no words":                    {nil, loader, "", []string{}, ""},
	} {
		t.Setenv("TERMUX_EXEC__PROC_SELF_EXE", c.environ)
		l := of(c.args, c.self, maps)
		if !slices.Equal(l.Args, c.want) || l.Path != c.path {
			t.Errorf("%s: %q of %q, want %q of %q", name, l.Args, l.Path, c.want, c.path)
		}
		words, err := l.Self()
		switch {
		case c.path == "" && err == nil:
			t.Errorf("%s: starts %q", name, words)
		case c.path == "":
		case c.self == loader && !slices.Equal(words, []string{loader, c.path}),
			c.self != loader && !slices.Equal(words, []string{c.path}):
			t.Errorf("%s: starts %q", name, words)
		}
	}
}

// TestCommand: how other programs of the app are started.
func TestCommand(t *testing.T) {
	program, _ := file(t, "program", "\x7fELF")
	script, _ := file(t, "script", "#!/data/data/com.termux/files/usr/bin/bash -e\necho\n")
	system, _ := file(t, "system", "#! /system/bin/sh\necho\n")
	for path, want := range map[string][]string{
		program:                {loader, program},
		script:                 {loader, "/data/data/com.termux/files/usr/bin/bash", "-e", script},
		system:                 {"/system/bin/sh", system},
		"/system/bin/getprop":  {"/system/bin/getprop"},
		"/nowhere/that/exists": {loader, "/nowhere/that/exists"},
	} {
		if got := (Launch{loader: loader}).Command(path); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
		if got := (Launch{}).Command(path); !slices.Equal(got, []string{path}) {
			t.Errorf("%s: %q where programs are executed", path, got)
		}
	}
}

// FuzzParseMaps gives the parser of mappings all kinds of text.
func FuzzParseMaps(f *testing.F) {
	f.Add([]byte("7f00-7f08 r-xp 00000000 fe:2c 12345 /data/mlget\n7f09-7f0a rw-p 0 00:00 0\n"))
	f.Add([]byte("a b c d e"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if parseMaps(text)[0] {
			t.Error("a mapping without a file")
		}
	})
}

// FuzzParseShebang gives the parser of a script's first line all kinds of text.
func FuzzParseShebang(f *testing.F) {
	f.Add([]byte("#!/bin/sh -e\necho"))
	f.Add([]byte("#! \t/bin/sh\t\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if words := parseShebang(text); len(words) > 2 || len(words) > 0 && !filepath.IsAbs(words[0]) {
			t.Errorf("%q", words)
		}
	})
}
