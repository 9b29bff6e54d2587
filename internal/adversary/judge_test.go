package adversary

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// piece is some blocks of a version.
type piece struct{ version, blocks int }

func made(pieces ...piece) []byte {
	var b []byte
	for _, p := range pieces {
		part := make([]byte, p.blocks*blockSize)
		bytesAt(part, 0, p.version, int64(len(b)))
		b = append(b, part...)
	}
	return b
}

// TestJudge judges outcomes whose verdict is known.
func TestJudge(t *testing.T) {
	const size = 8 * blockSize
	broken := errors.New("broken")
	said := func(version int, shown Shown) *Told {
		told := &Told{Version: version, Size: size, Shown: shown}
		if shown&ShowTag != 0 {
			told.Tag = `"x"`
		}
		told.Sent.Store(size)
		return told
	}
	lie := func(link int, size int64) *Told {
		return &Told{Link: link, Version: 0, Size: size, Lie: true, Kind: "lie"}
	}
	tagged := []*Told{said(0, ShowTag|ShowDate), said(1, ShowTag|ShowDate)}
	for name, c := range map[string]struct {
		change func(w *World)
		log    []*Told
		o      Outcome
		want   []Class
	}{
		"a version":              {nil, tagged, Outcome{Data: made(piece{1, 8})}, nil},
		"a mixture":              {nil, tagged, Outcome{Data: made(piece{0, 4}, piece{1, 4})}, []Class{Mixed}},
		"its last bytes":         {nil, tagged, Outcome{Data: append(made(piece{0, 7}), made(piece{1, 8})[7*blockSize:]...)}, []Class{Mixed}},
		"bytes of nothing":       {nil, tagged, Outcome{Data: make([]byte, size)}, []Class{Mixed}},
		"a part":                 {nil, tagged, Outcome{Data: made(piece{0, 7})}, []Class{Short}},
		"an empty file":          {nil, tagged, Outcome{}, []Class{Short}},
		"no validators":          {nil, []*Told{said(0, 0), said(1, 0)}, Outcome{Data: made(piece{0, 4}, piece{1, 4})}, []Class{Mixed}},
		"one validator":          {nil, []*Told{said(0, 0), said(1, ShowDate)}, Outcome{Data: made(piece{0, 4}, piece{1, 4})}, []Class{Mixed}},
		"no validators, zeros":   {nil, []*Told{said(0, 0), said(1, 0)}, Outcome{Data: append(made(piece{0, 7}), make([]byte, blockSize)...)}, []Class{Mixed}},
		"one date, tags":         {func(w *World) { w.SameSecond = true }, tagged, Outcome{Data: made(piece{0, 4}, piece{1, 4})}, []Class{Mixed}},
		"one date, one tag":      {func(w *World) { w.SameSecond = true }, []*Told{said(0, ShowDate), said(1, ShowTag|ShowDate)}, Outcome{Data: made(piece{0, 4}, piece{1, 4})}, nil},
		"a lie, no anchor":       {func(w *World) { w.Anchor = -1 }, []*Told{lie(0, 0)}, Outcome{}, nil},
		"a lie of one link":      {nil, []*Told{lie(1, 0)}, Outcome{}, []Class{Believed}},
		"a lie of two links":     {nil, []*Told{lie(1, 0), lie(2, 0)}, Outcome{}, nil},
		"lies of two links":      {nil, []*Told{lie(1, 0), lie(2, 2*blockSize)}, Outcome{Data: made(piece{0, 2})}, []Class{Believed}},
		"nothing":                {nil, tagged, Outcome{Err: broken}, []Class{Missing}},
		"nothing, no anchor":     {func(w *World) { w.Anchor = -1 }, tagged, Outcome{Err: broken}, nil},
		"nothing, contradicted":  {func(w *World) { w.Ambiguous = true }, tagged, Outcome{Err: broken}, nil},
		"interrupted":            {func(w *World) { w.Runs = []Run{{Interrupt: 1}, {}} }, tagged, Outcome{Err: broken, Interrupted: true}, nil},
		"interrupted by nobody":  {nil, tagged, Outcome{Err: broken, Interrupted: true}, []Class{Missing}},
		"an error, and a file":   {func(w *World) { w.Anchor = -1 }, tagged, Outcome{Err: broken, Exists: true, Data: made(piece{0, 8})}, []Class{Left}},
		"a disk's error":         {func(w *World) { w.Anchor = -1 }, tagged, Outcome{Err: broken, OnDisk: true}, []Class{Blamed}},
		"without end":            {nil, tagged, Outcome{Err: broken, Took: 24 * time.Hour}, []Class{Hung}},
		"a stream's beginning":   {func(w *World) { w.Mode, w.Anchor = Stream, -1 }, tagged, Outcome{Err: broken, Data: made(piece{1, 3})}, nil},
		"a stream's mixture":     {func(w *World) { w.Mode, w.Anchor = Stream, -1 }, tagged, Outcome{Err: broken, Data: made(piece{0, 1}, piece{1, 1})}, []Class{Leaked}},
		"left by another, whole": {func(w *World) { w.Foreign = &Foreign{Size: 4 * blockSize} }, tagged, Outcome{Data: made(piece{0, 4})}, []Class{Short}},
		"left by another, as is": {func(w *World) { w.Foreign, w.Anchor = &Foreign{Size: 4 * blockSize}, -1 }, tagged, Outcome{Err: broken, Exists: true, Data: made(piece{0, 4})}, nil},
	} {
		w := &World{
			Files: []File{{Versions: []Version{{Size: size}, {Size: size}}}},
			Links: []Link{{Edges: []int{0}}, {Edges: []int{0}}, {Edges: []int{0}}}, Edges: []Edge{{}}, Runs: []Run{{}},
		}
		if c.change != nil {
			c.change(w)
		}
		var got []Class
		for _, f := range Judge(w, c.log, []Outcome{c.o}) {
			got = append(got, f.Class)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestVersionsDifferEverywhere: any overlap tells versions apart.
func TestVersionsDifferEverywhere(t *testing.T) {
	const size = 1 << 20
	a, b, other := make([]byte, size), make([]byte, size), make([]byte, size)
	fill(a, 0, 0, 0)
	fill(b, 0, 1, 0)
	fill(other, 1, 0, 0)
	for i := 0; i < size; i += 8 {
		if string(a[i:i+8]) == string(b[i:i+8]) || string(a[i:i+8]) == string(other[i:i+8]) {
			t.Fatalf("the same word at %d", i)
		}
	}
	part := make([]byte, 10_000)
	fill(part, 0, 0, 12_345)
	if string(part) != string(a[12_345:22_345]) {
		t.Error("a part is not that of the whole")
	}
}
