// Package plan keeps data plans: how many bytes a link may carry in a day, a week or a month,
// over all runs and over programs that run at once, and at which hours it may carry any.
//
// A Book is the file that remembers. A program books bytes before they are used (Lease) and
// gives back what it did not use, so that what a killed program used is in the Book, too: with
// at most a lease more. A Keeper does this for one link while a run lasts.
//
// Contract: a Book may be used by several goroutines, and processes, at once; a Lease and a
// Keeper have one owner. Days are those of the user's calendar (see Zone).
package plan

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mlget/mlget/internal/units"
)

// Period is how often a plan begins anew.
type Period string

// The periods.
const (
	Daily   Period = "day"
	Weekly  Period = "week" // from Monday on (ISO 8601)
	Monthly Period = "month"
)

// Plan is how many bytes may be used in a period. The zero value is no plan.
type Plan struct {
	Bytes  int64  `json:"bytes"`
	Period Period `json:"period"`
	// From is the day of the month on which a month of the plan begins, 1 to 31: in a month
	// that is shorter, on its last day. Of other periods it is 0.
	From int `json:"from,omitempty"`
}

var errPlan = errors.New("want SIZE, SIZE/day, SIZE/week, SIZE/month or SIZE/month@DAY")

// Parse reads a plan: 50G/month, 50G/month@17, 1G/day, 5G/week.
func Parse(text string) (Plan, error) {
	size, rest, ok := strings.Cut(text, "/")
	if !ok {
		return Plan{}, errPlan
	}
	bytes, err := units.ParseSize(size)
	if err != nil {
		return Plan{}, err
	}
	if bytes == 0 {
		return Plan{}, errors.New("must be more than 0")
	}
	p := Plan{Bytes: bytes}
	period, from, given := strings.Cut(rest, "@")
	switch p.Period = Period(period); {
	case p.Period == Monthly && given:
		n, err := strconv.ParseUint(from, 10, 8)
		if p.From = int(n); err != nil || len(from) > 2 || p.From < 1 || p.From > 31 {
			return Plan{}, errors.New("the day on which the month begins is one of 1 to 31")
		}
	case p.Period == Monthly:
		p.From = 1
	case given, p.Period != Daily && p.Period != Weekly:
		return Plan{}, errPlan
	}
	return p, nil
}

// String is the plan as people read it: "50.0 GiB a month from day 17 on".
func (p Plan) String() string {
	text := units.Bytes(p.Bytes) + " a " + string(p.Period)
	if p.From > 1 {
		text += fmt.Sprintf(" from day %d on", p.From)
	}
	return text
}

// valid says whether it is one that Parse could have given.
func (p Plan) valid() bool {
	switch p.Period {
	case Monthly:
		return p.Bytes > 0 && p.From >= 1 && p.From <= 31
	case Daily, Weekly:
		return p.Bytes > 0 && p.From == 0
	}
	return false
}

// Day is a day of the calendar, as 2026-11-29. Days compare as their texts do.
type Day string

// DayOf is the day at a time, where the clock of t's location hangs. A year that a Day cannot
// hold is the nearest that it can.
func DayOf(t time.Time) Day {
	if y := t.Year(); y > 9999 {
		return "9999-12-31"
	} else if y < 1 {
		return "0001-01-01"
	}
	return Day(t.Format(time.DateOnly))
}

// ParseDay reads a day.
func ParseDay(text string) (Day, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return "", fmt.Errorf("%q is not a day", text)
	}
	return DayOf(t), nil
}

// date is the day's year, month and day.
func (d Day) date() (int, time.Month, int) {
	t, _ := time.Parse(time.DateOnly, string(d)) // ParseDay and DayOf make no others
	return t.Date()
}

// dayOn is a day of a month, which may lie outside of 1 to 12, or its last one.
func dayOn(year int, month time.Month, day int) Day {
	last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC)
	return DayOf(time.Date(last.Year(), last.Month(), min(day, last.Day()), 0, 0, 0, 0, time.UTC))
}

// Since is the first day of the period in which today lies.
func (p Plan) Since(today Day) Day {
	year, month, day := today.date()
	switch p.Period {
	case Weekly:
		t := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
		return DayOf(t.AddDate(0, 0, -(int(t.Weekday())+6)%7))
	case Monthly:
		if first := dayOn(year, month, p.From); first <= today {
			return first
		}
		return dayOn(year, month-1, p.From)
	case Daily:
	}
	return today
}

// Until is the first day of the next period.
func (p Plan) Until(today Day) Day {
	since := p.Since(today)
	year, month, day := since.date()
	switch p.Period {
	case Weekly:
		return DayOf(time.Date(year, month, day+7, 0, 0, 0, 0, time.UTC))
	case Monthly:
		return dayOn(year, month+1, p.From)
	case Daily:
	}
	return DayOf(time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC))
}
