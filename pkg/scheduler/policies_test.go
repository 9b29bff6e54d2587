package scheduler_test

import (
	"testing"

	"github.com/mlget/mlget/internal/soaktest"
	"github.com/mlget/mlget/pkg/scheduler"
	"github.com/mlget/mlget/pkg/scheduler/schedtest"
)

func policies(t testing.TB) map[string]func() scheduler.Policy {
	all := map[string]func() scheduler.Policy{}
	for _, name := range scheduler.Names() {
		all[name] = func() scheduler.Policy {
			p, err := scheduler.NewPolicy(name, 4<<20, 0.3)
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	return all
}

func TestPoliciesConform(t *testing.T) {
	histories := soaktest.Cases(100, 300, 5000)
	for name, p := range policies(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schedtest.Conform(t, p, histories)
		})
	}
}

func TestPoliciesConformWithManyFiles(t *testing.T) {
	histories := soaktest.Cases(50, 200, 3000)
	for name, p := range policies(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schedtest.ConformBatch(t, p, histories)
		})
	}
}

// TestALinkThatBringsNothingOfUse, though bytes come over it, is found out: here it and another dead
// one handed a few bytes to each other for hours, while a third was taken to be too late for them.
func TestALinkThatBringsNothingOfUse(t *testing.T) {
	for _, seed := range []uint64{102557, 100449} {
		h := schedtest.RandomBatch(seed)
		h.Config.Policy = policies(t)["3"]()
		if err := schedtest.Play(h, h.Config); err != nil {
			t.Errorf("history %d: %v", seed, err)
		}
	}
}

func FuzzHistories(f *testing.F) {
	f.Add(uint64(1), uint8(4))
	f.Fuzz(func(t *testing.T, seed uint64, which uint8) {
		names := scheduler.Names()
		h := schedtest.Random(seed)
		h.Config.Policy = policies(t)[names[int(which)%len(names)]]()
		if err := schedtest.Play(h, h.Config); err != nil {
			t.Fatal(err)
		}
		h = schedtest.RandomBatch(seed)
		h.Config.Policy = policies(t)[names[int(which)%len(names)]]()
		if err := schedtest.Play(h, h.Config); err != nil {
			t.Fatal(err)
		}
	})
}
