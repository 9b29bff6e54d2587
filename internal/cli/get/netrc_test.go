package get

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestNetrcAtHome: its name on Windows is _netrc, for curl and ftp as well; .netrc comes first.
func TestNetrcAtHome(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("NETRC", "")
	names := []string{".netrc"}
	if runtime.GOOS == "windows" {
		names = []string{"_netrc", ".netrc"}
	}
	if _, err := (&Options{netrc: true}).readNetrc(); err == nil {
		t.Error("one that is not there was read")
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(home, name), []byte("machine h login "+name+" password p"), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := (&Options{netrc: true}).readNetrc()
		if err != nil {
			t.Fatal(err)
		}
		if user, _, _ := f.For("h", ""); user != name {
			t.Errorf("%q was read, want %q", user, name)
		}
	}
}
