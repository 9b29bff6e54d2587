package get

import (
	"context"
	"io"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/cli/measure"
	"github.com/mlget/mlget/internal/energy"
	"github.com/mlget/mlget/internal/link"
	"github.com/mlget/mlget/internal/power"
)

// MeasuredLinks are the links of a download with the given flags whose power is measured,
// and the models of their radios. names, where there are any, are the links instead.
// There are none where no power is measured, and where flags are wrong: the download
// says in what.
func MeasuredLinks(ctx context.Context, given, names []string) ([]link.Info, energy.Models) {
	var o Options
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	o.AddFlags(f)
	if f.Parse(given) != nil || o.power.sample.Source == power.None || o.power.sample.Source == power.Model {
		return nil, energy.Models{}
	}
	models, err := measure.Models(o.power.modelFile)
	if err != nil {
		return nil, energy.Models{}
	}
	specs, err := o.specs()
	if err != nil {
		return nil, energy.Models{}
	}
	infos, err := link.List(ctx)
	if err != nil {
		return nil, energy.Models{}
	}
	if len(names) == 0 {
		if names, err = flags.NamedLinks(o.links); err != nil {
			return nil, energy.Models{}
		}
	}
	usable, _, err := link.Choose(link.Apply(infos, specs), names)
	if err != nil {
		return nil, energy.Models{}
	}
	return usable, models
}
