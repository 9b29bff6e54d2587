package tuning

import (
	"math"
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

// Sydney in the papers: 61 Mbit/s, of which 0.965 are payload, 290 ms away.
const sydney = 61e6 * 0.965 / 8 * 0.29 // bytes

// What a connection has in flight there: VIDEO comes with 13 Mbit/s over one.
const phoneBuffer = 13e6 / 8 * 0.29

func TestConcurrency(t *testing.T) {
	for _, c := range []struct {
		name  string
		avg   float64
		avail int
		last  bool
		want  int
	}{
		{"HTML: 2.13 MB / 131 KB = 16.3", 131e3, 40, false, 17},
		{"half of 32, and half of one", 131e3, 32, false, 17},
		{"half of 8", 131e3, 8, false, 5},
		{"IMAGE: 2.13 MB / 640 KB = 3.3", 640e3, 32, false, 4},
		{"VIDEO is larger than the product", 17.5e6, 32, false, 1},
		{"none left", 131e3, 0, false, 1},
		{"the last class may have all", 131e3, 8, true, 8},
	} {
		if got := concurrency(sydney, c.avg, c.avail, c.last); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestParallelism(t *testing.T) {
	for _, c := range []struct {
		name     string
		buf, avg float64
		want     int
	}{
		{"VIDEO: 2.13 MB / 471 KB = 4.5", phoneBuffer, 17.5e6, 5},
		{"IMAGE: 640 KB / 471 KB = 1.4", phoneBuffer, 640e3, 2},
		{"HTML fits into one buffer", phoneBuffer, 131e3, 1},
		{"a buffer that holds the product", 6e6, 17.5e6, 1},
	} {
		if got := parallelism(sydney, c.buf, c.avg); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestWeights(t *testing.T) {
	sets := [scheduler.MaxClasses]bucket{{1500, 196e6}, {200, 128e6}, {64, 1124e6}}
	// ln 196e6 * ln 1501 = 19.094*7.314, ln 128e6 * ln 201 = 18.668*5.303,
	// ln 1124e6 * ln 65 = 20.840*4.174: 139.65 + 99.00 + 86.99 = 325.64.
	w := weights(&sets)
	for i, want := range [...]float64{0.4289, 0.3040, 0.2671} {
		if math.Abs(w[i]-want) > 5e-4 {
			t.Errorf("class %d weighs %.4f, want %.4f", i, w[i], want)
		}
	}
	for _, c := range []struct {
		n    int
		want [scheduler.MaxClasses]int
	}{
		{1, [...]int{1, 1, 1}}, // one each at least
		{3, [...]int{1, 1, 1}},
		{5, [...]int{2, 2, 1}}, // 2.14, 1.52, 1.34
		{20, [...]int{9, 6, 5}},
	} {
		if got := shares(c.n, &sets); got != c.want {
			t.Errorf("%d connections: %v, want %v", c.n, got, c.want)
		}
	}
}

func TestDeal(t *testing.T) {
	for _, c := range []struct {
		n          int
		most, want [scheduler.MaxClasses]int
	}{
		{8, [...]int{99, 99, 99}, [...]int{2, 3, 3}}, // large ones first
		{2, [...]int{99, 99, 99}, [...]int{0, 1, 1}},
		{8, [...]int{99, 1, 3}, [...]int{4, 1, 3}},
		{8, [...]int{2, 1, 0}, [...]int{2, 1, 0}}, // no more than there are files
	} {
		if got := deal(c.n, c.most); got != c.want {
			t.Errorf("%d among %v: %v, want %v", c.n, c.most, got, c.want)
		}
	}
}

func TestHistogram(t *testing.T) {
	last := -1
	for n := int64(0); n < 1<<20; n += 1 + n/20 {
		at := place(n)
		if at < last || at > last+perOctave {
			t.Fatalf("%d bytes are in bucket %d, fewer in %d", n, at, last)
		}
		last = at
	}
	if at := place(math.MaxInt64); at >= 64*perOctave {
		t.Errorf("bucket %d", at)
	}
	var s sizes
	s.add(3000)
	s.add(5000)
	if s.all.mean() != 4000 || s.buckets[place(3000)].files != 1 {
		t.Errorf("%+v", s.all)
	}
}

func TestPartition(t *testing.T) {
	fill := func(sets ...[2]int64) *sizes {
		var s sizes
		for _, set := range sets {
			for range set[0] {
				s.add(set[1])
			}
		}
		return &s
	}
	html, image, video := [2]int64{1500, 131e3}, [2]int64{200, 640e3}, [2]int64{64, 17.5e6}
	for _, c := range []struct {
		name  string
		s     *sizes
		files [scheduler.MaxClasses]int64
		of    map[float64]scheduler.Class
	}{
		{"all three", fill(html, image, video), [...]int64{1500, 200, 64}, map[float64]scheduler.Class{1e3: small, 300e3: medium, 3e6: large}},
		{"one", fill(html), [...]int64{1500, 0, 0}, map[float64]scheduler.Class{1e3: small, 300e3: small, 3e6: small}},
		{"two large files join the medium ones", fill(html, image, [2]int64{2, 20e6}), [...]int64{1500, 202, 0}, map[float64]scheduler.Class{1e3: small, 3e6: medium}},
		{"few bytes", fill([2]int64{20, 100e3}, image, video), [...]int64{0, 220, 64}, map[float64]scheduler.Class{1e3: medium, 3e6: large}},
		{"a single file", fill([2]int64{1, 5}), [...]int64{1, 0, 0}, map[float64]scheduler.Class{5: small}},
	} {
		p := divide(c.s, sydney)
		for i, want := range c.files {
			if p.classes[i].files != want {
				t.Errorf("%s: class %d has %d files, want %d", c.name, i, p.classes[i].files, want)
			}
		}
		for bytes, want := range c.of {
			if got := p.class(bytes); got != want {
				t.Errorf("%s: %.0f bytes are of class %d, want %d", c.name, bytes, got, want)
			}
		}
	}
	var none partition
	if none.class(1e9) != small || none.count() != 1 {
		t.Error("before anything is known there is one class")
	}
}
