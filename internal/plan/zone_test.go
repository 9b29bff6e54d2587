package plan

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestZoneOfAPhone: Go takes a phone's zone for UTC, so Android is asked.
func TestZoneOfAPhone(t *testing.T) {
	at := time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		tz, property, date string
		clock              string
		unknown            bool
	}{
		{"", "Europe/Berlin", "", "14:00", false},
		{"", "Asia/Kolkata", "+0530", "17:30", false},
		{"America/St_Johns", "Europe/Berlin", "", "09:30", false},
		{":Europe/Berlin", "", "", "14:00", false},
		{"", "Mars/Olympus", "-0330", "08:30", false},
		{"", "../../etc/passwd", "+0000", "12:00", false},
		{"", "", "+1400", "02:00", false},
		{"", "Local", "", "12:00", true},
		{"", "", "", "12:00", true},
		{"", "", "+9999", "12:00", true},
		{"", "", "0530", "12:00", true},
		{"", "", "CEST", "12:00", true},
	} {
		zone, err := phoneZone(c.tz, func(program string, args ...string) string {
			switch program + " " + strings.Join(args, " ") {
			case "getprop persist.sys.timezone":
				return c.property
			case "date +%z":
				return c.date
			}
			t.Errorf("%s %q was asked", program, args)
			return ""
		})
		if clock := at.In(zone).Format("15:04"); clock != c.clock || errors.Is(err, ErrZone) != c.unknown {
			t.Errorf("%+v: it is %s, %v", c, clock, err)
		}
	}
}
