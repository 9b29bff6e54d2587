package power

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// openers are the kinds of sources, in the order in which mlget power lists them.
func openers() []opener {
	return []opener{
		{Battery, "root may read it, and on Android adb shell most phones'", openBattery},
		{RAPL, "root may read it", openRAPL},
		{HWMon, "", openHWMon},
		{ODPM, "root may read it; adb shell where the phone's maker allows it", openODPM},
		{Termux, "it takes the app Termux:API and: pkg install termux-api", openTermux},
	}
}

// try opens a source of this kind; the tree may be missing, and why is noTree.
func (o opener) try(ctx context.Context, tree folder, noTree error, cfg Config) (source, error) {
	if noTree != nil && o.name != Termux {
		return nil, noTree
	}
	return o.open(ctx, tree, cfg)
}

// choose opens the source that is asked for. The error says why there is none.
//
// Auto takes the first of: the rails of a phone, which count exactly, and also
// while it charges; a battery that is being discharged, since it feeds all there
// is; a sensor of the whole board; processor packages; other sensors; Termux,
// which is slow; and a battery that is not being discharged, in case that it
// will be.
func choose(ctx context.Context, cfg Config) (source, error) {
	tree, noTree := openTree(cfg.Sysfs)
	if noTree == nil {
		defer tree.close()
	}
	if cfg.Source != Auto {
		for _, o := range openers() {
			if o.name == cfg.Source {
				src, err := o.try(ctx, tree, noTree, cfg)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", o.name, err)
				}
				return src, nil
			}
		}
	}
	return chooseBest(ctx, tree, noTree, cfg)
}

// chooseBest opens all that can be read, and keeps the best.
func chooseBest(ctx context.Context, tree folder, noTree error, cfg Config) (best source, err error) {
	var reasons, missing []string
	if noTree != nil {
		reasons = append(reasons, noTree.Error())
	}
	for _, o := range openers() {
		if o.name == Termux && best != nil && rank(best) < rankTermux {
			continue // it takes seconds, for nothing
		}
		src, err := o.try(ctx, tree, noTree, cfg)
		switch {
		case errors.Is(err, errNone), errors.Is(err, errNotTermux):
			missing = append(missing, o.name)
		case err != nil && !errors.Is(err, noTree):
			reasons = append(reasons, o.name+": "+err.Error())
		case err != nil:
		case best == nil || rank(src) < rank(best):
			if best != nil {
				best.close()
			}
			best = src
		default:
			src.close()
		}
	}
	if best != nil {
		return best, nil
	}
	if len(missing) > 0 {
		reasons = append(reasons, "there is no "+strings.Join(missing, ", no "))
	}
	return nil, errors.New(strings.Join(reasons, "; "))
}

// rankTermux is the rank of the last source that is worth asking for.
const rankTermux = 5

// noRank is worse than any rank.
const noRank = rankTermux + 2

// rank orders sources; the least is the best.
func rank(src source) int {
	switch s := src.(type) {
	case *odpm:
		return 0
	case *battery:
		if s.external {
			return rankTermux + 1
		}
		return 1
	case *hwmon:
		if s.total {
			return 2
		}
		return 4
	case *rapl:
		return 3
	}
	return rankTermux
}
