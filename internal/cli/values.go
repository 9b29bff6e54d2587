package cli

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/units"
	"github.com/mlget/mlget/pkg/scheduler"
)

// sizeFlag is a number of bytes, or of bytes per second.
type sizeFlag struct {
	bytes int64
	auto  bool // the word auto is allowed, and is bytes = 0
	none  bool // 0 is allowed
	text  string
}

func (f *sizeFlag) String() string { return f.text }
func (f *sizeFlag) Type() string   { return "SIZE" }

func (f *sizeFlag) Set(text string) error {
	if f.auto && text == "auto" {
		f.bytes, f.text = 0, text
		return nil
	}
	n, err := units.ParseSize(text)
	if err != nil {
		return err
	}
	if n < 0 || n == 0 && !f.none {
		return errors.New("it must be more than 0")
	}
	f.bytes, f.text = n, text
	return nil
}

// nameFlag is a word that is not empty, since a variable that a script has not set must
// not be taken for a flag that is not there; nor another flag, whose value is missing.
type nameFlag string

// nameVar defines a flag that is such a word.
func nameVar(f *pflag.FlagSet, to *string, name, short, usage string) {
	f.VarP((*nameFlag)(to), name, short, usage)
}

func (f *nameFlag) Type() string   { return "string" }
func (f *nameFlag) String() string { return string(*f) }

func (f *nameFlag) Set(text string) error {
	if text == "" {
		return errors.New("it is empty: is a variable not set?")
	}
	if text[0] == '-' && text != "-" {
		return usageError{err: errors.New("it begins with -: is the name missing?"), hint: "./" + text + " is a file of that name"}
	}
	*f = nameFlag(text)
	return nil
}

// checkLists says which of the flags, all of them lists, was given nothing: what is to be
// done for each of its words would not be done at all.
func checkLists(f *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		list, ok := f.Lookup(name).Value.(pflag.SliceValue)
		if ok && f.Changed(name) && len(list.GetSlice()) == 0 {
			return usagef("--%s: it is empty: is a variable not set?", name)
		}
	}
	return nil
}

// overlapFlag is a fraction; 0 is auto.
type overlapFlag float64

func (f *overlapFlag) Type() string { return "F" }

func (f *overlapFlag) String() string {
	if *f == 0 {
		return "auto"
	}
	return strconv.FormatFloat(float64(*f), 'g', -1, 64)
}

func (f *overlapFlag) Set(text string) error {
	if text == "auto" {
		*f = 0
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v <= 0 || v >= 1 {
		return fmt.Errorf("%q is neither auto nor between 0 and 1", text)
	}
	*f = overlapFlag(v)
	return nil
}

// paddingFlag is a fraction; scheduler.AutoPadding is auto.
type paddingFlag float64

func (f *paddingFlag) Type() string { return "F" }

func (f *paddingFlag) String() string {
	if *f < 0 {
		return "auto"
	}
	return strconv.FormatFloat(float64(*f), 'g', -1, 64)
}

func (f *paddingFlag) Set(text string) error {
	if text == "auto" {
		*f = scheduler.AutoPadding
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= 1) { // NaN is not
		return fmt.Errorf("%q is neither auto nor within 0 to 1", text)
	}
	*f = paddingFlag(v)
	return nil
}

// mostAtOnce bounds --concurrency.
const mostAtOnce = 1024

// countFlag is a number from 1 to most; 0 is auto.
type countFlag struct{ n, most int }

func (f *countFlag) Type() string { return "N" }

func (f *countFlag) String() string {
	if f.n == 0 {
		return "auto"
	}
	return strconv.Itoa(f.n)
}

func (f *countFlag) Set(text string) error {
	if text == "auto" {
		f.n = 0
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > f.most {
		return fmt.Errorf("%q is neither auto nor a number from 1 to %d", text, f.most)
	}
	f.n = n
	return nil
}

// triesFlag is how many attempts there are; 0 is no end, as in wget.
type triesFlag struct {
	n     int
	given bool // by the user
}

func (f *triesFlag) Type() string   { return "N" }
func (f *triesFlag) String() string { return strconv.Itoa(f.n) }

func (f *triesFlag) Set(text string) error {
	if text == "inf" {
		*f = triesFlag{given: true}
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is neither inf nor a number from 0 on", text)
	}
	*f = triesFlag{n, true}
	return nil
}

// errorTriesMost is how many answers that its server has failed end a file, before its first
// byte, unless the user says otherwise: wget and curl give up at the first.
const errorTriesMost = 3

// errors is how many of these there may be; 0: any number.
func (f *triesFlag) errors() int {
	if f.given {
		return f.n
	}
	return errorTriesMost
}

// durationFlag is a time from 0 on: Go's (1.5s, 2m), or seconds, as in wget and curl.
type durationFlag time.Duration

// durationVar defines a flag that is a time.
func durationVar(f *pflag.FlagSet, to *time.Duration, name, short string, value time.Duration, usage string) {
	*to = value
	f.VarP((*durationFlag)(to), name, short, usage)
}

var errDuration = errors.New("want a time like 1.5s, 2m or 1h, or seconds")

func (f *durationFlag) Type() string { return "TIME" }

func (f *durationFlag) String() string {
	if *f == 0 {
		return "0" // for which pflag shows no default
	}
	return time.Duration(*f).String()
}

func (f *durationFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if s, number := strconv.ParseFloat(text, 64); number == nil {
		const most = 100 * 365 * 24 * 3600 // s: durations end at 292 years
		if math.IsNaN(s) || math.Abs(s) > most {
			return errDuration
		}
		d, err = time.Duration(s*float64(time.Second)), nil
	}
	switch {
	case err != nil:
		return errDuration
	case d < 0:
		return errors.New("a time is not negative")
	}
	*f = durationFlag(d)
	return nil
}
