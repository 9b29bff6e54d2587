package results

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/filelock"
)

type head struct {
	Version int    `json:"series"`
	Seed    int    `json:"seed"`
	Args    string `json:"args,omitempty"`
	Date    string `json:"date"`
}

func (h head) Check() error {
	if h.Version != 1 {
		return errors.New("another version")
	}
	return nil
}

func (h head) Settings() any {
	h.Date = ""
	return h
}

type figure struct {
	Round int `json:"round"`
}

func (f figure) Check() error {
	if f.Round < 0 {
		return errors.New("below 0")
	}
	return nil
}

const (
	headLine   = `{"series":1,"seed":3,"date":"today"}` + "\n"
	figureLine = `{"round":7}` + "\n"
)

func TestRead(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int // results; < 0: refused
	}{
		{headLine, 0},
		{headLine + figureLine + figureLine, 2},
		{headLine + figureLine + figureLine[:4], 1},
		{"", -1},
		{headLine[:len(headLine)-1], -1},
		{figureLine, -1},
		{"\n", -1},
		{"text\n", -1},
		{strings.Replace(headLine, ":1", ":2", 1), -1},
		{headLine + headLine, -1},
		{headLine + "\n", -1},
		{headLine + strings.Replace(figureLine, "7", "-7", 1), -1},
		{headLine + strings.Replace(figureLine, "\n", "{}\n", 1), -1},
		{headLine + strings.Repeat(" ", LongestLine) + figureLine, -1},
	} {
		_, results, n, err := Read[head, figure](strings.NewReader(c.text))
		if c.n < 0 {
			if !errors.Is(err, ErrFormat) {
				t.Errorf("%.60q: %v, %v", c.text, results, err)
			}
			continue
		}
		if err != nil || len(results) != c.n || n != int64(strings.LastIndexByte(c.text, '\n')+1) {
			t.Errorf("%.60q: %v, %d, %v", c.text, results, n, err)
		}
	}
}

func TestSeriesGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	for i, date := range []string{"today", "tomorrow"} {
		file, err := Open[head, figure](path, head{Version: 1, Seed: 3, Date: date})
		if err != nil || len(file.Results) != i {
			t.Fatalf("%v, %v", file, err)
		}
		// The second time, half a line is left behind.
		if err := errors.Join(file.Add(figure{i}), file.Close()); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append(text, `{"rou`...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file, err := Open[head, figure](path, head{Version: 1, Seed: 3})
	if err != nil || !slices.Equal(file.Results, []figure{{0}, {1}}) {
		t.Fatalf("%v, %v", file, err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOthersAreRefusedAndLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	for _, c := range []struct {
		text string
		want error
		says string
	}{
		{headLine + figureLine, ErrOther, `args was not set and is now "-k"; seed was 3 and is now 4`},
		{"Dear diary,\n", ErrFormat, path},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open[head, figure](path, head{Version: 1, Seed: 4, Args: "-k"})
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v", err)
		}
		if left, err := os.ReadFile(path); err != nil || string(left) != c.text {
			t.Errorf("changed: %q, %v", left, err)
		}
	}
}

func TestOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.jsonl")
	file, err := Open[head, figure](path, head{Version: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open[head, figure](path, head{Version: 1}); !errors.Is(err, filelock.ErrBusy) || !strings.Contains(err.Error(), path) {
		t.Errorf("a second one: %v", err)
	}
	if err := errors.Join(file.Add(figure{1}), file.Close()); err != nil {
		t.Fatal(err)
	}
	if file, err = Open[head, figure](path, head{Version: 1}); err != nil || len(file.Results) != 1 {
		t.Fatalf("%v, %v", file, err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestADeviceIsNobodys: several series can be kept nowhere at once.
func TestADeviceIsNobodys(t *testing.T) {
	for range 2 {
		file, err := Open[head, figure](os.DevNull, head{Version: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close() //nolint:errcheck // nothing is kept
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{headLine, headLine + figureLine, headLine + figureLine[:5], "{}\n", "\n", headLine + "null\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		h, results, n, err := Read[head, figure](bytes.NewReader(text))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		if n < 1 || n > int64(len(text)) || text[n-1] != '\n' || bytes.Count(text[:n], []byte("\n")) != len(results)+1 || h.Check() != nil {
			t.Fatalf("%d bytes of %d, %d results", n, len(text), len(results))
		}
	})
}
