package power

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// raplPrefix begins the name of a zone of Intel's and AMD's counters. A second
// interface to the same counters, intel-rapl-mmio, has another.
const raplPrefix = "intel-rapl:"

const (
	// maxPackageWatts is more than any processor package draws.
	maxPackageWatts = 1000
	// restWatts is the least power to assume for a package, even at rest.
	restWatts = 5
	// wrapMargin is how many times more than at the last reading a package may draw before a
	// wrap of its counter goes unseen [chosen by hand].
	wrapMargin = 8
)

// errRoot is why ordinary users may not read the counters.
var errRoot = errors.New("for root only, since the counters were used to spy on other programs (CVE-2020-8694)")

// rapl are the energy counters of a PC's processor packages.
//
// Only zones that are a package count: their parts (core, uncore) are in them
// already. The zone of the whole platform, psys, is left out: many firmwares
// have it and do not feed it.
type rapl struct {
	sensors
	detail string
}

func openRAPL(_ context.Context, tree folder, _ Config) (source, error) {
	r := &rapl{}
	var names []string
	entries, reason := tree.list("class/powercap")
	for _, entry := range entries {
		if rest, ok := strings.CutPrefix(entry, raplPrefix); !ok || strings.Contains(rest, ":") {
			continue
		}
		zone, err := tree.folder("class/powercap/" + entry)
		if err != nil {
			reason = err
			continue
		}
		name := zone.word("name")
		if !strings.HasPrefix(name, "package") {
			zone.close()
			continue
		}
		s := &sensor{folder: zone, energy: "energy_uj"}
		s.counter.wrap, _ = zone.number("max_energy_range_uj") // 0: a wrap-around adds nothing
		if err := s.read(0); err != nil {
			zone.close()
			reason = because(entry, err)
			if errors.Is(err, fs.ErrPermission) {
				reason = fmt.Errorf("%w: %w", reason, errRoot)
			}
			continue
		}
		s.counter.seen = false // the first reading of the run begins the sum
		r.sensors = append(r.sensors, s)
		names = append(names, name)
	}
	if len(r.sensors) == 0 {
		return nil, reason
	}
	r.detail = "energy counters of " + strings.Join(names, ", ")
	return r, nil
}

// describe returns the interval within which no package's counter wraps twice: if it drew
// maxPackageWatts or, where the range is so small that this would keep the reader busy,
// wrapMargin times its recent power.
func (r *rapl) describe() description {
	d := description{name: RAPL, detail: r.detail}
	for _, s := range r.sensors {
		round := time.Duration(s.counter.wrap/maxPackageWatts) * time.Microsecond
		if watts := wrapMargin * max(s.counter.watts, restWatts); round < time.Second && s.counter.watts > 0 {
			round = min(time.Second, time.Duration(float64(s.counter.wrap)/min(watts, maxPackageWatts))*time.Microsecond)
		}
		if round > 0 && (d.most == 0 || round < d.most) {
			d.most = round
		}
	}
	return d
}

func (r *rapl) read(_ context.Context, now time.Duration, out []sample) ([]sample, error) {
	return r.sensors.read(now, out)
}

func (r *rapl) flush(out []sample) []sample { return out }
