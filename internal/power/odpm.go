package power

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// maxRails bounds the channels of a power meter that are believed; the chips of
// Pixel phones have 8 to 12.
const maxRails = 64

// errNoRail is why a power meter gives nothing.
var errNoRail = errors.New("no power rail found")

// odpm are the on-device power meters of a Pixel phone (6 and later): an energy
// counter for each of several rails. Their sum is not the whole device.
type odpm struct {
	devices []*odpmDevice
	detail  string
}

type odpmDevice struct {
	folder folder
	rails  [maxRails]rail // by channel
}

type rail struct {
	name    string
	counter counter
}

func openODPM(_ context.Context, tree folder, _ Config) (source, error) {
	const devices = "bus/iio/devices"
	o := &odpm{}
	entries, reason := tree.list(devices)
	for _, entry := range entries {
		if !strings.HasPrefix(entry, "iio:device") {
			continue
		}
		dir, err := tree.folder(devices + "/" + entry)
		if err != nil {
			reason = err
			continue
		}
		d := &odpmDevice{folder: dir}
		if err := d.read(0); err != nil {
			dir.close()
			if !errors.Is(err, fs.ErrNotExist) { // else it is a sensor of something else
				reason = because(entry, err)
			}
			continue
		}
		o.devices = append(o.devices, d)
	}
	if len(o.devices) == 0 {
		return nil, reason
	}
	rails := 0
	for _, d := range o.devices {
		for i := range d.rails {
			if d.rails[i].counter.seen {
				rails++
			}
			d.rails[i].counter.seen = false // the first reading of the run begins the sum
		}
	}
	o.detail = fmt.Sprintf("energy counters of %d power rails", rails)
	return o, nil
}

func (o *odpm) describe() description { return description{name: ODPM, detail: o.detail} }

// read needs every device, or the sum would be too low now and too high later.
func (o *odpm) read(_ context.Context, now time.Duration, out []sample) ([]sample, error) {
	sum := sample{at: now, counter: true}
	for _, d := range o.devices {
		if err := d.read(now); err != nil {
			return out, err
		}
		for i := range d.rails {
			sum.joules += float64(d.rails[i].counter.sum) / 1e6
		}
	}
	return append(out, sum), nil
}

func (o *odpm) flush(out []sample) []sample { return out }

func (o *odpm) renew() {
	for _, d := range o.devices {
		d.folder.renew()
	}
}

func (o *odpm) close() {
	for _, d := range o.devices {
		d.folder.close()
	}
}

func (d *odpmDevice) read(now time.Duration) error {
	text, err := d.folder.read("energy_value")
	if err != nil {
		return err
	}
	found := false
	for line := range bytes.Lines(text) {
		channel, name, count, ok := parseRail(line)
		if !ok {
			continue
		}
		found = true
		r := &d.rails[channel]
		if r.name != string(name) { // another rail was selected: what it counted before is not ours
			r.name, r.counter.seen = string(name), false
		}
		_ = r.counter.add(now, count) // a count below 0 was refused with its line
	}
	if !found {
		return because("energy_value", errNoRail)
	}
	return nil
}

// parseRail reads a line of a power meter, CH3(T=123)[RAIL], 456: channel, time
// in milliseconds, the rail's name, and microjoules since the start.
func parseRail(line []byte) (channel int, name []byte, microjoules int64, ok bool) {
	rest, ok := bytes.CutPrefix(trim(line), []byte("CH"))
	if !ok {
		return 0, nil, 0, false
	}
	number, rest, ok := bytes.Cut(rest, []byte("(T="))
	if !ok {
		return 0, nil, 0, false
	}
	ch, ok := parseNumber(number)
	if !ok || ch < 0 || ch >= maxRails {
		return 0, nil, 0, false
	}
	_, rest, ok = bytes.Cut(rest, []byte(")["))
	if !ok {
		return 0, nil, 0, false
	}
	name, rest, ok = bytes.Cut(rest, []byte("],"))
	if !ok || len(name) > maxWord {
		return 0, nil, 0, false
	}
	microjoules, ok = parseNumber(rest)
	return int(ch), name, microjoules, ok && microjoules >= 0
}
