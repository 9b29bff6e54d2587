package tuning

import (
	"strings"
	"testing"

	"github.com/mlget/mlget/pkg/scheduler"
)

// The numbers of the papers (guner-kosar, "Energy-Efficient Mobile Network I/O", and the same
// group's MinE, HTEE and ProMC): each test fails when one of them is changed.

// TestGunerKosarAlgorithm1Classes: small files are below BDP/10, medium ones below BDP; a class
// of 2 files or fewer, or of fewer than 2 BDP of bytes, joins another one. The BDP is 1 MB.
func TestGunerKosarAlgorithm1Classes(t *testing.T) {
	const bdp = 1e6
	p := partition{bdp: bdp}
	for bytes, want := range map[float64]int{99_999: small, 100_000: medium, 999_999: medium, 1_000_000: large} {
		if got := p.sort(bytes); got != want {
			t.Errorf("%.0f bytes are %s, want %s", bytes, className(got), className(want))
		}
	}
	for _, tt := range []struct {
		name    string
		n, size int64 // of the large files, beside 1000 small ones
		classes int
	}{
		{"3 files of 4 MB", 3, 4e6, 2},
		{"2 files of 4 MB", 2, 4e6, 1},
		{"4 medium files, 1.9 MB in all", 4, 475e3, 1},
		{"4 medium files, 2.2 MB in all", 4, 550e3, 2},
	} {
		var s sizes
		for range 1000 {
			s.add(10e3)
		}
		for range tt.n {
			s.add(tt.size)
		}
		if p := divide(&s, bdp); p.count() != tt.classes {
			t.Errorf("%s: %d classes, want %d", tt.name, p.count(), tt.classes)
		}
	}
}

// TestProMCRebalancing: every 3 s, by a rate of 0.6 old + 0.4 new, when the slowest class would
// still take twice as long as the fastest one with a connection more, three times in a row.
func TestProMCRebalancing(t *testing.T) {
	// Two connections each, so a move leaves 1 and 3: the fastest class's time doubles, the
	// slowest one's falls to 2/3. Both bring 1 MB/s. Of 10 MB and x, x*2/3 >= 2*(10*2) is due
	// from 60 MB on.
	for _, tt := range []struct {
		name string
		left int64 // of the large files
		at   int64 // second at which a connection moves; 0: none does
	}{
		{"59 MB beside 10", 59e6, 0},
		{"61 MB beside 10", 61e6, 9},
	} {
		tuner := rebalancing(t)
		o := Observation{Links: []LinkView{{Up: true}}, Left: [scheduler.MaxClasses]int64{10e6, 0, tt.left}}
		moved := int64(0)
		for tuner.now = 0; tuner.now <= 11*scheduler.Second; tuner.now += scheduler.Second {
			second := int64(tuner.now / scheduler.Second)
			o.Received = [scheduler.MaxClasses]int64{second * 1e6, 0, second * 1e6}
			for _, c := range tuner.rebalance(&o, nil) {
				if moved != 0 || !strings.HasPrefix(c.Why, "rebalanced: a connection from small to large") {
					t.Errorf("%s: %+v", tt.name, c)
				}
				moved = second
			}
		}
		if moved != tt.at {
			t.Errorf("%s: moved after %d s, want %d", tt.name, moved, tt.at)
		}
	}
	// 10 MB in the first 3 s and 1 MB in the next: 0.6*10/3 + 0.4*1/3 MB/s.
	tuner := rebalancing(t)
	o := Observation{Links: []LinkView{{Up: true}}, Left: [scheduler.MaxClasses]int64{1e9, 0, 1e9}}
	for _, bytes := range []int64{0, 10e6, 11e6} {
		o.Received = [scheduler.MaxClasses]int64{bytes, 0, bytes}
		tuner.rebalance(&o, nil)
		tuner.now += 3 * scheduler.Second
	}
	if got, want := tuner.balance.rate[small], (0.6*10e6+0.4*1e6)/3; got < want-1 || got > want+1 {
		t.Errorf("the rate is %.0f, want %.0f", got, want)
	}
}

// rebalancing is a tuner over one link with two connections for small and for large files.
func rebalancing(t *testing.T) *Tuner {
	t.Helper()
	tuner, err := New(Config{Mode: HAT, Links: 1})
	if err != nil {
		t.Fatal(err)
	}
	l := &tuner.links[0]
	l.up = true
	l.plan.Classes[small] = scheduler.Share{Connections: 2, Parallelism: 1}
	l.plan.Classes[large] = scheduler.Share{Connections: 2, Parallelism: 1}
	return tuner
}

// TestGunerKosarAlgorithm3SharesAreRoundedDown: a class has max(1, floor(n*w)) of n channels
// [R, HTEE], so that no more than n are dealt out, and none of them is left over.
func TestGunerKosarAlgorithm3SharesAreRoundedDown(t *testing.T) {
	for _, classes := range [][scheduler.MaxClasses]bucket{
		{{files: 40, bytes: 4e6}, {files: 40, bytes: 4e6}},
		{{files: 1500, bytes: 190e6}, {files: 200, bytes: 130e6}, {files: 64, bytes: 1e9}},
	} {
		kinds := 0
		for _, c := range classes {
			if c.files > 0 {
				kinds++
			}
		}
		for n := kinds; n <= scheduler.MaxStreams; n++ {
			sum, w := 0, weights(&classes)
			for i, got := range shares(n, &classes) {
				sum += got
				if least := int(float64(n) * w[i] * 0.999999); classes[i].files > 0 && got < max(1, least) {
					t.Errorf("%d channels: class %d of weight %.3f has %d", n, i, w[i], got)
				}
			}
			if sum != n {
				t.Errorf("%d channels: %d were dealt out", n, sum)
			}
		}
	}
}
