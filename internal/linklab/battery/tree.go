package battery

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Where a phone's kernel shows its supplies: the devices behind links.
const (
	classDir  = "class/power_supply"
	deviceDir = "devices/platform/battery/power_supply"
)

// supplies are the files that never change, by supply.
func supplies() map[string]map[string]string {
	return map[string]map[string]string{
		"battery": {
			"type": "Battery", "status": "Discharging", "present": "1", "health": "Good", "technology": "Li-ion",
		},
		"usb": {"type": "USB", "online": "0"},
		"ac":  {"type": "Mains", "online": "0"},
	}
}

// gauge is what the files show that change: in µA (negative while the battery is
// being discharged), µV, µAh and percent.
type gauge struct{ current, voltage, charge, capacity int64 }

// files are those that change.
type files struct{ current, voltage, charge, capacity *file }

// makeTree makes everything; the files that change are empty.
func makeTree(dir string) (f files, err error) {
	if err := os.MkdirAll(filepath.Join(dir, classDir), 0o755); err != nil {
		return f, fmt.Errorf("battery: %w", err)
	}
	for supply, texts := range supplies() {
		at := filepath.Join(dir, deviceDir, supply)
		link := filepath.Join(dir, classDir, supply)
		if err := errors.Join(os.MkdirAll(at, 0o755), os.Symlink(filepath.Join("../..", deviceDir, supply), link)); err != nil {
			return f, fmt.Errorf("battery: %w", err)
		}
		for name, text := range texts {
			if err := os.WriteFile(filepath.Join(at, name), []byte(text+"\n"), 0o444); err != nil {
				return f, fmt.Errorf("battery: %w", err)
			}
		}
	}
	for _, k := range []struct {
		name string
		size int
		to   **file
	}{
		{"current_now", numberSize, &f.current},
		{"voltage_now", numberSize, &f.voltage},
		{"charge_counter", numberSize, &f.charge},
		{"capacity", capacitySize, &f.capacity},
	} {
		if *k.to, err = newFile(filepath.Join(dir, deviceDir, "battery", k.name), k.size); err != nil {
			return files{}, errors.Join(fmt.Errorf("battery: %w", err), f.close())
		}
	}
	return f, nil
}

// show writes the readings. A reader may find the current of one and the voltage
// of the next: they differ by less than the resolution, hardly ever by more.
func (f files) show(g gauge) error {
	err := errors.Join(f.current.set(g.current), f.voltage.set(g.voltage), f.charge.set(g.charge), f.capacity.set(g.capacity))
	if err != nil {
		return fmt.Errorf("battery: %w", err)
	}
	return nil
}

func (f files) close() error {
	var errs []error
	for _, k := range []*file{f.current, f.voltage, f.charge, f.capacity} {
		if k != nil {
			errs = append(errs, k.f.Close())
		}
	}
	return errors.Join(errs...)
}

// file holds one number. Neither the file nor its size ever changes, so that a
// reader that keeps it open sees every change, as with sysfs, and never a part of a
// number: a reader that meets the end of a file looks there once more, and would
// find the rest of a longer one. A write of eight bytes is copied as one word.
type file struct {
	f   *os.File
	buf []byte // of the file's size
}

// Sizes of the files, in bytes.
const (
	numberSize   = 8
	capacitySize = 3
)

// largest is the largest number that has room with its sign.
const largest = 9_999_999

func newFile(path string, size int) (*file, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &file{f: f, buf: make([]byte, size)}, nil
}

// set makes the file hold the number and the end of a line, if there is room for
// that; what is left is filled with more of them.
func (k *file) set(v int64) error {
	n := len(strconv.AppendInt(k.buf[:0], max(-largest, min(largest, v)), 10))
	for i := n; i < len(k.buf); i++ {
		k.buf[i] = '\n'
	}
	_, err := k.f.WriteAt(k.buf, 0)
	return err
}
