package main_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/linklab/battery"
	"github.com/mlget/mlget/pkg/scheduler"
)

// wrongModel says that wlan0 draws half of what wifi-s7-mean does, and the truth of rmnet0.
const wrongModel = `{"radios": {
	"wlan0": {"like": "wifi-s7-mean", "active_mw": 266.4, "down_mw_per_mbps": 4.54, "promotion_mw": 249.5, "tail_mw": 239},
	"rmnet0": {"like": "lte-s7-mean"}
}}`

// Thesis, 9.3, energy as an input: a working link whose model is wrong by a factor of two
// is found out within 20 s by what the battery shows, and left for the other one. At 7.7
// Mbit/s wlan0 draws 0.60 W, is said to draw 0.30 W, and rmnet0 draws 0.40 W. Without a
// gauge it is not found out.
func TestMinEnergyFindsOutAWrongModel(t *testing.T) {
	t.Parallel()
	for name, measured := range map[string]bool{"measured": true, "not measured": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, linklab.Config{Size: 40e6, Battery: battery.Config{Every: 100 * time.Millisecond}},
				"wlan0,down=8,rtt=20,power=wifi-s7-mean", "rmnet0,down=8,rtt=40,power=lte-s7-mean")
			model := filepath.Join(l.dir, "wrong.json")
			if err := os.WriteFile(model, []byte(wrongModel), 0o644); err != nil {
				t.Fatal(err)
			}
			args := []string{
				"--energy", "min-energy", "--energy-model", model, "--record", "record.jsonl", "-p", "1", "--power", "none",
				"--link", "wlan0,bandwidth=960KB", "--link", "rmnet0,bandwidth=960KB",
			}
			if measured {
				args = append(args, l.byBattery()...)
			}
			r := l.fetch(t, l.URL(), args...)
			var first [2]scheduler.Time // request of each link
			for _, e := range l.events(t) {
				if q, ok := e.(event.RequestStarted); ok && first[q.Link] == 0 {
					first[q.Link] = q.At
				}
			}
			t.Logf("rmnet0 was asked %.1f s after wlan0; they carried %d and %d bytes", (first[1] - first[0]).Seconds(), r.Links[0].Bytes, r.Links[1].Bytes)
			if !measured {
				if first[1] != 0 || r.Links[1].Bytes > 0 {
					t.Error("rmnet0 was used")
				}
				return
			}
			if found := first[1] - first[0]; first[1] == 0 || found > 20*scheduler.Second {
				t.Error("it was not found out within 20 s")
			}
			if r.Links[0].Bytes > r.Links[1].Bytes || r.Links[0].FinishedSeconds > (first[1]-first[0]).Seconds()+2 {
				t.Errorf("wlan0 was not left: %+v", r.Links)
			}
		})
	}
}
