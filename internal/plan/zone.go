package plan

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/android"
)

// ErrZone says that the time zone of this machine is not known.
var ErrZone = errors.New("the time zone is not known")

// Now is the time on the clock on the wall, in a zone.
func Now(zone *time.Location) time.Time { return time.Now().In(zone) }

// Zone is this machine's time zone; with ErrZone it is UTC. Go knows it, but for Android.
func Zone(ctx context.Context) (*time.Location, error) {
	if !android.Here("") {
		return time.Local, nil
	}
	return phoneZone(os.Getenv("TZ"), func(program string, args ...string) string {
		return android.Ask(ctx, program, args...)
	})
}

// phoneZone is Android's: what TZ says, else its property, else how far its clock is from UTC
// today, where the zone is newer than what is known of zones.
func phoneZone(tz string, ask func(program string, args ...string) string) (*time.Location, error) {
	name := strings.TrimPrefix(tz, ":")
	if name == "" {
		name = ask("getprop", "persist.sys.timezone")
	}
	if name != "" && name != "Local" {
		if zone, err := time.LoadLocation(name); err == nil {
			return zone, nil
		}
	}
	offset := ask("date", "+%z") // +hhmm
	n, err := strconv.Atoi(offset)
	if err != nil || len(offset) != len("+hhmm") || n < -1400 || n > 1400 {
		return time.UTC, ErrZone
	}
	return time.FixedZone(offset, (n/100*60+n%100)*60), nil
}
