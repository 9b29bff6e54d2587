package filelock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestOneAtATime(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		t.Helper()
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first, second := open(), open()
	if err := Take(first); err != nil {
		t.Fatal(err)
	}
	if err := Take(second); !errors.Is(err, ErrBusy) {
		t.Errorf("taken twice: %v", err)
	}
	if err := Close(first); err != nil {
		t.Fatal(err)
	}
	if err := Take(second); err != nil {
		t.Errorf("it is free again: %v", err)
	}
	if err := Close(second); err != nil {
		t.Fatal(err)
	}
}
