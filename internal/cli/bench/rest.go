package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/get"
)

const (
	// seenRest is for how long the device is watched after its radios should sleep: two
	// readings at base end a tail, and radios differ from their models.
	seenRest = 3 * time.Second
	// leastRest is the shortest pause where no power is measured.
	leastRest = time.Second
)

// restFlag is a time between runs. If the user gives none, it follows from the links' radios.
type restFlag struct {
	d    time.Duration
	told bool
}

func (f *restFlag) Type() string { return "TIME" }

func (f *restFlag) String() string {
	if !f.told {
		return "auto"
	}
	return (*flags.Duration)(&f.d).String()
}

func (f *restFlag) Set(text string) error {
	if text == "auto" {
		*f = restFlag{}
		return nil
	}
	f.told = true
	return (*flags.Duration)(&f.d).Set(text)
}

// radioTail is for how long the radio of a link is awake after its last byte.
type radioTail struct {
	link, model string
	d           time.Duration
}

// longestTail is the longest of links, by the models of their radios; of a link whose
// radio is not known there is none. The flags of the downloads, extra, may name a file
// of models, technologies and links, which count where names is empty.
func longestTail(ctx context.Context, names, extra []string) (longest radioTail) {
	usable, models := get.MeasuredLinks(ctx, extra, names)
	for _, info := range usable {
		if r, ok := models.Of(info.Name, string(info.Tech)); ok && r.TailTime > longest.d {
			longest = radioTail{info.Name, r.Name, r.TailTime}
		}
	}
	return longest
}

// settle sets the times that the user left open: the radios must sleep when the base of the
// next run is measured. Otherwise the base is too high, and the energy above it too low. least
// is the shortest pause. The warning names a given time that is too short.
func (t radioTail) settle(tail, pause *restFlag, least time.Duration) (warning error) {
	need := time.Duration(math.Ceil(t.d.Seconds())) * time.Second
	if tail != nil && !tail.told {
		tail.d = need + seenRest
	}
	watched := time.Duration(0)
	if tail != nil {
		watched = tail.d
	}
	if !pause.told {
		pause.d = max(least, need+leastRest-watched)
	}
	if rest := watched + pause.d; rest < t.d {
		return fmt.Errorf("%s (%s) stays awake for %.1f s after its last byte, and %v between two runs is less: the base of the next run is measured too high, and its joules come out too low (--cool-down)",
			t.link, t.model, t.d.Seconds(), rest)
	}
	return nil
}

// warnOfRest prints what is wrong with the times between runs.
func warnOfRest(out io.Writer, warning error) {
	if warning != nil {
		exit.Print(out, warning, "")
	}
}
