package store

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/internal/testbody"
)

// What "Naming Files, Paths, and Namespaces" says
// (https://learn.microsoft.com/windows/win32/fileio/naming-a-file):
//
// "Use any character in the current code page for a name [...] except for the following:
// < (less than) > (greater than) : (colon) " (double quote) / (forward slash) \ (backslash)
// | (vertical bar or pipe) ? (question mark) * (asterisk). Integer value zero [...].
// Characters whose integer representations are in the range from 1 through 31".
//
// "Do not use the following reserved names for the name of a file: CON, PRN, AUX, NUL,
// COM1 [...] COM9, COM¹, COM², COM³, LPT1 [...] LPT9, LPT¹, LPT², and LPT³. Also avoid these
// names followed immediately by an extension; for example, NUL.txt and NUL.tar.gz are both
// equivalent to NUL."
//
// "Do not end a file or directory name with a space or a period."
//
// CONIN$ and CONOUT$ are those of the "Consoles" page of CreateFile.
var (
	refusedChars = regexp.MustCompile(`[<>:"/\\|?*\x00-\x1f]`)
	refusedNames = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[1-9¹²³]|lpt[1-9¹²³]|conin\$|conout\$) *(\.|$)`)
	refusedEnds  = regexp.MustCompile(`[. ]$`)
)

// windowsNames are names that a server may choose, none of which may come to the disk as it is.
func windowsNames() []string {
	names := []string{
		"a:b", "a.txt::$DATA", ":a", "C:", "C:a", `C:\a`, "C:/a", `\a`, `\\server\share\a`, "//server/share/a", `\\?\C:\a`, `\\.\COM1`, `\??\C:\a`,
		"a.", "a ", "a. .", "...", " ", ". ", "a\x01b", "a?", "a*b", `a"b`, "a<b>", "a|b", "..", `..\..\a`, "../a",
	}
	for _, device := range []string{"CON", "con", "PRN", "AUX", "NUL", "Nul", "COM1", "com9", "COM¹", "LPT1", "LPT³", "CONIN$", "conout$"} {
		for _, end := range []string{"", ".", " ", ".txt", ".tar.gz", " .txt", ". .", ":", ":x"} {
			names = append(names, device+end)
		}
	}
	return names
}

// TestWindowsNames: whatever others call a file or a directory, it gets a name that Windows keeps,
// in the directory that the user said.
func TestWindowsNames(t *testing.T) {
	u := parse(t, "http://h/x")
	for _, name := range windowsNames() {
		for way, to := range map[string]func(dir string) (Target, *url.URL){
			"URL": func(dir string) (Target, *url.URL) {
				return Target{Dir: dir}, &url.URL{Scheme: "http", Host: "h", Path: "/" + name}
			},
			"out=":    func(dir string) (Target, *url.URL) { return Target{Dir: dir, Name: name}, u },
			"dir=":    func(dir string) (Target, *url.URL) { return Target{Dir: dir, Sub: name}, u },
			"dir=, 2": func(dir string) (Target, *url.URL) { return Target{Dir: dir, Sub: "a/" + name + "/b"}, u },
			"-r":      func(dir string) (Target, *url.URL) { return Target{Dir: dir, Sub: name, Name: name}, u },
		} {
			dir := filepath.Join("C:", string(filepath.Separator), "somewhere")
			target, from := to(dir)
			keptByWindows(t, way+" "+name, dir, target.Path(from))
		}
		dir := t.TempDir()
		f := open(t, Target{Dir: dir, Sub: name, Served: true}, "http://h/x")
		const text = "these are its bytes"
		must(t, f.Begin(identity.Identity{Size: int64(len(text))}))
		_, err := f.WriteAt([]byte(text), 0)
		must(t, err)
		saved, err := f.Commit(CommitOptions{Size: int64(len(text)), Name: name})
		if err != nil {
			t.Errorf("Content-Disposition: %q: %v", name, err)
			continue
		}
		keptByWindows(t, "Content-Disposition: "+name, dir, saved)
		files := 0
		must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files++
				if path != saved || content(t, path) != text {
					t.Errorf("%q: %s was saved, and there is %s", name, saved, path)
				}
			}
			return err
		}))
		if files != 1 {
			t.Errorf("%q: %d files", name, files)
		}
	}
}

// keptByWindows says what is wrong with path, which is to be in dir.
func keptByWindows(t *testing.T, what, dir, path string) {
	t.Helper()
	below, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(below) {
		t.Errorf("%q: %s is not in %s", what, path, dir)
		return
	}
	for element := range strings.SplitSeq(below, `\`) {
		if refusedChars.MatchString(element) || refusedNames.MatchString(element) || refusedEnds.MatchString(element) {
			t.Errorf("%q: %q in %s is no name", what, element, path)
		}
	}
}

// TestWindowsNamesOfUsers: what the user calls a file is not changed. Where Windows would save it
// under another name, or nowhere, it is refused.
func TestWindowsNamesOfUsers(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ab:c", "a.txt::$DATA", "a.", "a ", "a?", "COM¹", "aux.tar.gz", "sub/nul.txt", `sub\LPT1`} {
		_, err := Open(Target{Dir: dir, Name: name, Explicit: true}, parse(t, "http://h/x"))
		if !errors.Is(err, ErrReserved) && !errors.Is(err, ErrStream) { // what is a device, and when, differs between Windows 10 and 11
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, below := range []string{"ab:c", `x.\y`, "NUL", "com1.d/x", "x "} {
		for _, target := range []Target{{Dir: dir + `\` + below}, {Dir: dir + `\` + below, Run: newRun(t, dir+`\`+below)}} {
			if _, err := Open(target, parse(t, "http://h/x")); !errors.Is(err, ErrReserved) {
				t.Errorf("-P %q: %v", below, err)
			}
		}
	}
	wantNames(t, dir)
	for name, want := range map[string]string{
		"a": dir + `\a`, `sub\a`: dir + `\sub\a`, "sub/a": dir + `\sub\a`, `..\a`: filepath.Dir(dir) + `\a`,
		`\a`: `\a`, "/a": "/a", "C:a": "C:a", `C:\a`: `C:\a`, "C:/a": "C:/a",
		`\\server\share\a`: `\\server\share\a`, "//server/share/a": "//server/share/a", `\\?\C:\a`: `\\?\C:\a`,
	} {
		if got := (Target{Dir: dir, Name: name, Explicit: true}).Path(nil); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// TestShortNamesAreOneFile: "a longer name.text" may be reached as ALONGE~1.TEX. In one run, that is
// another URL's file all the same.
func TestShortNamesAreOneFile(t *testing.T) {
	dir := t.TempDir()
	to := rerun(dir)
	to.Run = newRun(t, dir)
	b, other := testbody.Body{Size: 3000, Seed: 1}, testbody.Body{Size: 3000, Seed: 2}
	long := getAll(t, open(t, to, "http://h/a/a%20longer%20name.text"), identity.Identity{Size: b.Size}, b)
	path, err := windows.UTF16PtrFromString(filepath.Join(dir, long))
	must(t, err)
	buf := make([]uint16, windows.MAX_PATH)
	n, err := windows.GetShortPathName(path, &buf[0], uint32(len(buf)))
	must(t, err)
	short := filepath.Base(windows.UTF16ToString(buf[:n]))
	if short == long {
		t.Skip("this volume has no short names")
	}
	got := getAll(t, open(t, to, "http://h/b/"+url.PathEscape(short)), identity.Identity{Size: other.Size}, other)
	if got == short || content(t, dir, got) != bodyString(t, other) || content(t, dir, long) != bodyString(t, b) {
		t.Errorf("%s is %s", short, got)
	}
}

// TestErrorsOfWindows: a full disk and a closed pipe are known by the numbers that they have elsewhere.
func TestErrorsOfWindows(t *testing.T) {
	for of, want := range map[error]error{
		windows.ERROR_DISK_FULL: syscall.ENOSPC, windows.ERROR_HANDLE_DISK_FULL: syscall.ENOSPC, windows.ERROR_WRITE_PROTECT: syscall.EROFS,
		windows.ERROR_NO_DATA: syscall.EPIPE, windows.ERROR_BROKEN_PIPE: syscall.EPIPE, windows.ERROR_DISK_QUOTA_EXCEEDED: syscall.EDQUOT,
		windows.ERROR_ACCESS_DENIED: fs.ErrPermission, windows.ERROR_ALREADY_EXISTS: fs.ErrExist,
	} {
		if err := fail("write", "x", &os.PathError{Op: "write", Path: "x", Err: of}); !errors.Is(err, want) || !errors.Is(err, of) {
			t.Errorf("%v: %v, want %v", of, err, want)
		}
	}
}
