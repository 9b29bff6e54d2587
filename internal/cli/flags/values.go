package flags

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlget/mlget/internal/cli/exit"
	"github.com/mlget/mlget/internal/units"
	"github.com/mlget/mlget/pkg/scheduler"
)

// Size is a number of bytes, or of bytes per second.
type Size struct {
	Bytes int64
	Auto  bool // the word auto is allowed, and is bytes = 0
	None  bool // 0 is allowed
	Text  string
}

// String is the value as help shows it.
func (f *Size) String() string { return f.Text }

// Type names the value in help.
func (f *Size) Type() string { return "SIZE" }

// Set implements pflag.Value.
func (f *Size) Set(text string) error {
	if f.Auto && text == "auto" {
		f.Bytes, f.Text = 0, text
		return nil
	}
	n, err := units.ParseSize(text)
	if err != nil {
		return err
	}
	if n < 0 || n == 0 && !f.None {
		return errors.New("it must be more than 0")
	}
	f.Bytes, f.Text = n, text
	return nil
}

// Name is a word that is not empty, since a variable that a script has not set must
// not be taken for a flag that is not there; nor another flag, whose value is missing.
type Name string

// NameVar defines a flag that is such a word.
func NameVar(f *pflag.FlagSet, to *string, name, short, usage string) {
	f.VarP((*Name)(to), name, short, usage)
}

// Type names the value in help.
func (f *Name) Type() string { return "string" }

// String is the value as help shows it.
func (f *Name) String() string { return string(*f) }

// Set implements pflag.Value.
func (f *Name) Set(text string) error {
	if text == "" {
		return errors.New("it is empty: is a variable not set?")
	}
	if text[0] == '-' && text != "-" {
		return exit.UsageError{Err: errors.New("it begins with -: is the name missing?"), Hint: "./" + text + " is a file of that name"}
	}
	*f = Name(text)
	return nil
}

// CheckLists says which of the flags, all of them lists, was given nothing: what is to be
// done for each of its words would not be done at all.
func CheckLists(f *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		list, ok := f.Lookup(name).Value.(pflag.SliceValue)
		if ok && f.Changed(name) && len(list.GetSlice()) == 0 {
			return exit.Usagef("--%s: it is empty: is a variable not set?", name)
		}
	}
	return nil
}

// Overlap is a fraction; 0 is auto.
type Overlap float64

// Type names the value in help.
func (f *Overlap) Type() string { return "F" }

// String is the value as help shows it.
func (f *Overlap) String() string {
	if *f == 0 {
		return "auto"
	}
	return strconv.FormatFloat(float64(*f), 'g', -1, 64)
}

// Set implements pflag.Value.
func (f *Overlap) Set(text string) error {
	if text == "auto" {
		*f = 0
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v <= 0 || v >= 1 {
		return fmt.Errorf("%q is neither auto nor between 0 and 1", text)
	}
	*f = Overlap(v)
	return nil
}

// Padding is a fraction; scheduler.AutoPadding is auto.
type Padding float64

// Type names the value in help.
func (f *Padding) Type() string { return "F" }

// String is the value as help shows it.
func (f *Padding) String() string {
	if *f < 0 {
		return "auto"
	}
	return strconv.FormatFloat(float64(*f), 'g', -1, 64)
}

// Set implements pflag.Value.
func (f *Padding) Set(text string) error {
	if text == "auto" {
		*f = scheduler.AutoPadding
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= 0 && v <= 1) { // NaN is not
		return fmt.Errorf("%q is neither auto nor within 0 to 1", text)
	}
	*f = Padding(v)
	return nil
}

// MostAtOnce bounds --concurrency.
const MostAtOnce = 1024

// Count is a number from 1 to most; 0 is auto.
type Count struct{ N, Most int }

// Type names the value in help.
func (f *Count) Type() string { return "N" }

// String is the value as help shows it.
func (f *Count) String() string {
	if f.N == 0 {
		return "auto"
	}
	return strconv.Itoa(f.N)
}

// Set implements pflag.Value.
func (f *Count) Set(text string) error {
	if text == "auto" {
		f.N = 0
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > f.Most {
		return fmt.Errorf("%q is neither auto nor a number from 1 to %d", text, f.Most)
	}
	f.N = n
	return nil
}

// Tries is how many attempts there are; 0 is no end, as in wget.
type Tries struct {
	N     int
	given bool // by the user
}

// Type names the value in help.
func (f *Tries) Type() string { return "N" }

// String is the value as help shows it.
func (f *Tries) String() string { return strconv.Itoa(f.N) }

// Set implements pflag.Value.
func (f *Tries) Set(text string) error {
	if text == "inf" {
		*f = Tries{given: true}
		return nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is neither inf nor a number from 0 on", text)
	}
	*f = Tries{n, true}
	return nil
}

// Given says whether the user has said how many.
func (f *Tries) Given() bool { return f.given }

// errorTriesMost is how many answers that its server has failed end a file, before its first
// byte, unless the user says otherwise: wget and curl give up at the first.
const errorTriesMost = 3

// Errors is how many of these there may be; 0: any number.
func (f *Tries) Errors() int {
	if f.given {
		return f.N
	}
	return errorTriesMost
}

// Duration is a time from 0 on: Go's (1.5s, 2m), or seconds, as in wget and curl.
type Duration time.Duration

// DurationVar defines a flag that is a time.
func DurationVar(f *pflag.FlagSet, to *time.Duration, name, short string, value time.Duration, usage string) {
	*to = value
	f.VarP((*Duration)(to), name, short, usage)
}

var errDuration = errors.New("want a time like 1.5s, 2m or 1h, or seconds")

// Type names the value in help.
func (f *Duration) Type() string { return "TIME" }

// String is the value as help shows it.
func (f *Duration) String() string {
	if *f == 0 {
		return "0" // for which pflag shows no default
	}
	return time.Duration(*f).String()
}

// Set implements pflag.Value.
func (f *Duration) Set(text string) error {
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
		return errors.New("a time cannot be negative")
	}
	*f = Duration(d)
	return nil
}
