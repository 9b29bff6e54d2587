package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

func sample() journal {
	return journal{
		Version: journalVersion, URL: "http://h/x", URLSum: "ab", Size: 1000,
		ETag: `"<t>"`, LastModified: "Mon, 01 Jun 2026 00:00:00 GMT", Encoding: "zstd", Adopted: 3,
		Done: ranges(0, 10, 10, 20, 500, 1000),
	}
}

func encoded(t testing.TB, j journal) []byte {
	t.Helper()
	b, err := j.encode()
	must(t, err)
	return b
}

func TestJournalRoundTrip(t *testing.T) {
	want := sample()
	got, err := decodeJournal(encoded(t, want))
	must(t, err)
	want.Check = got.Check
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
}

// Every byte changed in every bit, and every length: refused.
func TestJournalDamagedAnywhereIsRefused(t *testing.T) {
	good := encoded(t, sample())
	for i := range good {
		for bit := range 8 {
			b := bytes.Clone(good)
			b[i] ^= 1 << bit
			if _, err := decodeJournal(b); err == nil {
				t.Fatalf("accepted with bit %d of byte %d changed: %s", bit, i, b)
			}
		}
		if _, err := decodeJournal(good[:i]); err == nil {
			t.Fatalf("accepted when cut to %d bytes", i)
		}
		zeros := append(bytes.Clone(good[:i]), make([]byte, len(good)-i)...)
		if _, err := decodeJournal(zeros); err == nil {
			t.Fatalf("accepted with zeros from %d on", i)
		}
	}
	if _, err := decodeJournal(append(good, good...)); err == nil {
		t.Fatal("accepted twice in one file")
	}
}

// A self-check that is right does not make nonsense true.
func TestJournalContradictions(t *testing.T) {
	for name, change := range map[string]func(*journal){
		"version":         func(j *journal) { j.Version = 2 },
		"size":            func(j *journal) { j.Size = -2 },
		"beyond size":     func(j *journal) { j.Size = 999 },
		"adopted":         func(j *journal) { j.Adopted = -1 },
		"adopted beyond":  func(j *journal) { j.Adopted = 1001 },
		"unsorted":        func(j *journal) { j.Done = ranges(10, 20, 0, 5) },
		"overlapping":     func(j *journal) { j.Done = ranges(0, 20, 19, 30) },
		"empty range":     func(j *journal) { j.Done = ranges(5, 5) },
		"backward range":  func(j *journal) { j.Done = ranges(5, 4) },
		"negative offset": func(j *journal) { j.Done = ranges(-5, 4) },
	} {
		j := sample()
		change(&j)
		if _, err := decodeJournal(encoded(t, j)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// JSON that no mlget wrote is a foreign file; a damaged journal of ours is not.
func TestForeignJournalIsRefused(t *testing.T) {
	for text, foreign := range map[string]bool{
		`{"another program's": "state"}`: true, `{}`: true, `{"url": 5}`: true, `[1, 2]`: true, `"text"`: true, "null\n": true,
		``: false, `{"mlget_journal":1`: false, "{}\x00\x00": false, `{"mlget_journal":2}`: false, "\x93\x00\x17": false,
	} {
		if _, err := decodeJournal([]byte(text)); errors.Is(err, ErrForeign) != foreign || errors.Is(err, errDamaged) == foreign {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzDecodeJournal(f *testing.F) {
	j := sample()
	b, err := j.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"mlget_journal":1,"done":[{"off":5,"end":3}]}`))
	f.Add([]byte(`{"mlget_journal":1,"size_bytes":-1,"done":[{"off":9223372036854775806,"end":9223372036854775807}]}`))
	f.Add([]byte(`[]`))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		accepted(t, b)
		// Once more with a self-check that is right.
		var j journal
		if json.Unmarshal(b, &j) == nil {
			j.Version = journalVersion
			accepted(t, encoded(t, j))
		}
	})
}

// accepted checks what decodeJournal promises of b, if it takes it.
func accepted(t *testing.T, b []byte) {
	t.Helper()
	j, err := decodeJournal(b)
	if err != nil {
		return
	}
	if !bytes.Equal(encoded(t, j), b) {
		t.Fatalf("accepted another form: %q", b)
	}
	var last scheduler.Range
	for _, r := range j.Done {
		if r.Off < last.End || r.End <= r.Off || j.Size >= 0 && r.End > j.Size {
			t.Fatalf("accepted %v in %d bytes", j.Done, j.Size)
		}
		last = r
	}
}
