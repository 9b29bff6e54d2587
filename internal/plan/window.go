package plan

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Window is the hours at which a link may be used, by the clock on the wall: where an hour is
// left out in spring, or comes twice in autumn, the window does so, too. The zero value is all
// hours.
type Window struct {
	From, To int // minutes of the day, 0 to 1440; From is the first one within, To the first one behind; equal: all hours
}

const dayMinutes = 24 * 60

// ParseWindow reads HH:MM-HH:MM. One that ends before it begins lasts over midnight.
func ParseWindow(text string) (Window, error) {
	from, to, ok := strings.Cut(text, "-")
	w := Window{}
	var err error
	if w.From, err = minuteOf(from); err == nil {
		w.To, err = minuteOf(to)
	}
	if !ok || err != nil || w.From == dayMinutes {
		return Window{}, errors.New("want HH:MM-HH:MM, like 23:30-07:00")
	}
	if w.From == w.To {
		return Window{}, errors.New("it begins when it ends")
	}
	return w, nil
}

// minuteOf reads HH:MM; 24:00 is the end of the day.
func minuteOf(text string) (int, error) {
	if text == "24:00" {
		return dayMinutes, nil
	}
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, err
	}
	return t.Hour()*60 + t.Minute(), nil
}

// String is the window as ParseWindow reads it.
func (w Window) String() string {
	return fmt.Sprintf("%02d:%02d-%02d:%02d", w.From/60, w.From%60, w.To/60, w.To%60)
}

// Open says whether a time lies within, where the clock of t's location hangs.
func (w Window) Open(t time.Time) bool {
	now := t.Hour()*60 + t.Minute()
	switch {
	case w.From == w.To:
		return true
	case w.From < w.To:
		return w.From <= now && now < w.To
	}
	return now >= w.From || now < w.To
}
