package faults

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/mlget/mlget/internal/linklab"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// seedVar chooses other cells than those of every day.
const seedVar = "MLGET_FAULTS_SEED"

// shortCells is how many there are at least: every kind of fault, and some more.
const shortCells = 190

// The short form of `make soak`.
func TestMatrixInShort(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	linklab.SkipIfUnsupported(t)
	seed := uint64(1)
	if text := os.Getenv(seedVar); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", seedVar, err)
		}
		seed = n
	}
	name := filepath.Join(t.TempDir(), "mlget")
	if text, err := exec.Command("go", "build", "-o", name, "github.com/mlget/mlget/cmd/mlget").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	s := Session{Config: Config{Mlget: name, Seed: seed, Jobs: 8}, Log: t.Output()}
	cells := Choose(Matrix(), seed, shortCells)
	t.Logf("%d cells, %s=%d", len(cells), seedVar, seed)
	outs, err := s.Run(t.Context(), cells)
	if err != nil {
		t.Fatal(err)
	}
	met := 0
	for _, o := range outs {
		if !o.Passed {
			t.Errorf("linklab faults --seed %d --only %s: %s", seed, o.Cell, o.Why)
		}
		if o.Met {
			met++
		}
	}
	if len(outs) != len(cells) || met < len(cells)*9/10 {
		t.Errorf("%d of %d cells were run, and in %d of them the fault happened", len(outs), len(cells), met)
	}
	t.Log(Summarise(outs, seed, s.Config.Jobs, 0).Line())
}
