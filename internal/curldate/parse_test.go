package curldate

import (
	"testing"
	"time"
)

// The forms are those of curl_getdate(3); the seconds are what GNU date says of them.
func TestParse(t *testing.T) {
	for text, want := range map[string]int64{
		"Sun, 06 Nov 1994 08:49:37 GMT":   784111777,
		"Sunday, 06-Nov-94 08:49:37 GMT":  784111777,
		"Sun Nov  6 08:49:37 1994":        784111777,
		"Nov  6 08:49:37 1994":            784111777,
		"06 Nov 1994 08:49:37 GMT":        784111777,
		"06-Nov-94 08:49:37 GMT":          784111777,
		"1994 Nov 6 08:49:37":             784111777,
		"GMT 08:49:37 06-Nov-94 Sunday":   784111777,
		"94 6 Nov 08:49:37":               784111777,
		"1994 Nov 6":                      784080000,
		"06-Nov-94":                       784080000,
		"Sun Nov 6 94":                    784080000,
		"1994.Nov.6":                      784080000,
		"Sun/Nov/6/94/GMT":                784080000,
		"Sun, 06 Nov 1994 08:49:37 CET":   784108177,
		"06 Nov 1994 08:49:37 EST":        784129777,
		"Sun, 12 Sep 2004 15:05:58 -0700": 1095026758,
		"Sat, 11 Sep 2004 21:32:11 +0200": 1094931131,
		"20040912 15:05:58 -0700":         1095026758,
		"20040911 +0200":                  -1, // without a time there is no zone
		"20040911":                        1094860800,
		"2004-09-11":                      1094860800,
		"2004-09-11 10:00":                1094896800,
		"2004-09-11T10:00:00Z":            1094896800,
		"":                                -1,
		"yesterday":                       -1,
		"31 Jun 2004":                     -1,
		"0 Jun 2004":                      -1,
		"12:00":                           -1,
		"5 Jun 2004 25:00":                -1,
		"index.html":                      -1,
		"a":                               -1,
		"2004-13-41":                      -1,
	} {
		got, err := Parse(text)
		switch {
		case want < 0 && err == nil:
			t.Errorf("%q is %v", text, got)
		case want >= 0 && (err != nil || got.Unix() != want):
			t.Errorf("%q: %v, %v; want %v", text, got.UTC(), err, time.Unix(want, 0).UTC())
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("Sun, 06 Nov 1994 08:49:37 GMT")
	f.Add("20040912 15:05:58 -0700")
	f.Add("2004-09-11T10:00:00Z")
	f.Fuzz(func(t *testing.T, text string) {
		at, err := Parse(text)
		if err != nil {
			return
		}
		if y := at.UTC().Year(); y < -1 || y > 10000 {
			t.Errorf("%q: the year %d", text, y)
		}
		again, err := Parse(at.UTC().Format(time.RFC1123))
		if at.UTC().Year() >= 1000 && at.UTC().Year() < 10000 && (err != nil || !again.Equal(at.Truncate(time.Second))) {
			t.Errorf("%q: %v is read back as %v, %v", text, at, again, err)
		}
	})
}
