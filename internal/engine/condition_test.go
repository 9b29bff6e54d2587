package engine

import (
	"testing"
	"time"

	"github.com/mlget/mlget/internal/fetch"
)

// TestCondition goes by curl's --time-cond and wget's --timestamping.
func TestCondition(t *testing.T) {
	const told = "Thu, 29 Feb 2024 12:00:00 GMT"
	at := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		cond Condition
		told string
		want bool
	}{
		"no condition":                   {Condition{}, told, true},
		"changed later":                  {Condition{After: at.Add(-time.Second)}, told, true},
		"changed then":                   {Condition{After: at}, told, false},
		"changed earlier":                {Condition{After: at.Add(time.Second)}, told, false},
		"no time":                        {Condition{After: at}, "", true},
		"no real time":                   {Condition{After: at}, "yesterday", true},
		"before a later time":            {Condition{Before: at.Add(time.Second)}, told, true},
		"before the same time":           {Condition{Before: at}, told, false},
		"before an earlier time":         {Condition{Before: at.Add(-time.Second)}, told, false},
		"file as old":                    {Condition{After: at, Local: true, Size: 7}, told, false},
		"file as old, on FAT":            {Condition{After: at.Add(-time.Second), Local: true, Size: 7}, told, false},
		"file that is older":             {Condition{After: at.Add(-time.Hour), Local: true, Size: 7}, told, true},
		"file that is newer":             {Condition{After: at.Add(time.Hour), Local: true, Size: 7}, told, false},
		"file that is newer and shorter": {Condition{After: at.Add(time.Hour), Local: true, Size: 6}, told, true},
		"file of a server without times": {Condition{After: at, Local: true, Size: 7}, "", true},
	} {
		if got := c.cond.wants(&fetch.Object{Size: 7, LastModified: c.told}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if (&Condition{After: at, Local: true, Size: 6}).wants(&fetch.Object{Size: -1, LastModified: told}) {
		t.Error("a size that nobody tells is another one")
	}
}
