package battery

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestNeverHalfWritten has a reader that keeps the file open, and one that opens
// it anew, while numbers of different lengths are written as fast as possible.
func TestNeverHalfWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "current_now")
	k, err := newFile(path, numberSize)
	if err != nil {
		t.Fatal(err)
	}
	numbers := map[string]int64{"-181000": -181000, "-999999": -999999, "-1234567": -1234567, "7": 7, "-77777": -77777}
	if err := k.set(7); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	var several atomic.Bool // have been seen: a reader may not be run before all has been written
	go func() {
		for n, until := 0, time.Now().Add(20*time.Second); n < 2000 || !several.Load() && time.Now().Before(until); n++ {
			for _, v := range numbers {
				if err := k.set(v); err != nil {
					done <- err
					return
				}
			}
		}
		done <- k.f.Close()
	}()
	seen := map[string]int{}
	for over := false; !over; {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			over = true
		default:
		}
		var buf [64]byte
		n, _ := open.ReadAt(buf[:], 0) // its error is the end of the file
		again, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{string(buf[:n]), string(again)} {
			word := strings.TrimRight(text, "\n")
			if _, ok := numbers[word]; !ok {
				t.Fatalf("read %q", text)
			}
			seen[word]++
		}
		several.Store(len(seen) > 1)
	}
	if len(seen) < 2 {
		t.Errorf("seen: %v", seen)
	}
	if err := open.Close(); err != nil {
		t.Error(err)
	}
	k2, err := newFile(filepath.Join(t.TempDir(), "x"), numberSize)
	if err != nil {
		t.Fatal(err)
	}
	for v, want := range map[int64]string{1: "1", -181000: "-181000", -1234567: "-1234567", -1234567890: "-9999999"} {
		want += strings.Repeat("\n", numberSize-len(want))
		if err := k2.set(v); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(k2.f.Name()); err != nil || string(got) != want {
			t.Errorf("%d reads %q, %v", v, got, err)
		}
	}
	if err := k2.f.Close(); err != nil {
		t.Error(err)
	}
}

// TestTree finds what samplers look for, by the links by which they look.
func TestTree(t *testing.T) {
	dir := t.TempDir()
	f, err := makeTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.show(gauge{-181000, 3849000, 2129500, 71}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"battery/type": "Battery", "battery/status": "Discharging", "battery/current_now": "-181000",
		"battery/voltage_now": "3849000", "battery/charge_counter": "2129500", "battery/capacity": "71",
		"usb/type": "USB", "usb/online": "0", "ac/online": "0",
	} {
		got, err := os.ReadFile(filepath.Join(dir, "class/power_supply", name))
		if err != nil || string(got) != want+"\n" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if err := f.close(); err != nil {
		t.Error(err)
	}
	if _, err := makeTree(dir); err == nil {
		t.Error("a second tree at the same place")
	}
}
