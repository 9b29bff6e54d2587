package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/measure"
	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/power"
)

// TestDoctorLooksWherePowerDoes: what doctor says of each source is what power says
// without flags.
func TestDoctorLooksWherePowerDoes(t *testing.T) {
	var o measure.Options
	o.AddFlags(pflag.NewFlagSet("", pflag.ContinueOnError))
	cfg, err := o.Config(&event.Bus{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	told := string(examine(t.Context()))
	for _, f := range power.Survey(t.Context(), cfg) {
		want := f.Problem
		if f.Readable {
			want = "readable " + f.Detail
		}
		begin := "power " + f.Source + ":"
		_, line, _ := strings.Cut(told, begin)
		if line, _, _ = strings.Cut(line, "\n"); !strings.HasPrefix(strings.TrimSpace(line), want) {
			t.Errorf("%s%s, but mlget power: %s", begin, line, want)
		}
	}
}
