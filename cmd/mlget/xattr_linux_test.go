package main_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoAttributes: a file keeps its bytes and its time, and not where it came
// from, which may hold a password (wget CVE-2018-20483, curl CVE-2021-22876).
func TestNoAttributes(t *testing.T) {
	s, dir := newSite(t), t.TempDir()
	mlget(t, dir, "-u", "alice:"+password, s.clear.URL+"/auth/1000/f.bin?token="+password).want(t, 0)
	mlget(t, dir, "-u", "alice:wrong", s.clear.URL+"/auth/1000/g.bin").want(t, 6)
	name := filepath.Join(dir, "f.bin")
	if err := unix.Setxattr(name, "user.probe", []byte("x"), 0); err != nil {
		t.Skip("no extended attributes here:", err)
	}
	list := make([]byte, 4096)
	n, err := unix.Listxattr(name, list)
	check(t, err)
	if have := string(list[:n]); have != "user.probe\x00" {
		t.Errorf("attributes %q", have)
	}
}
