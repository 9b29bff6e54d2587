package units

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestParseSize(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		err  error
	}{
		{"0", 0, nil},
		{"17", 17, nil},
		{"17b", 17, nil},
		{"2K", 2048, nil},
		{"2k", 2048, nil},
		{"4M", 4 << 20, nil},
		{"1G", 1 << 30, nil},
		{"3T", 3 << 40, nil},
		{"2KB", 2000, nil},
		{"2kB", 2000, nil},
		{"2KiB", 2048, nil},
		{"200MB", 200e6, nil},
		{"1.5M", 3 << 19, nil},
		{"0.1KB", 100, nil},
		{"0.5", 0, nil},
		{"9223372036854775807", math.MaxInt64, nil},
		{"9223372036854775807.5", math.MaxInt64, nil},
		{"9223372036854775808", 0, ErrRange},
		{"8388608T", 0, ErrRange},
		{"8388607.9999999T", 8388607<<40 + 1099511517824, nil},
		{"", 0, ErrSyntax},
		{"M", 0, ErrSyntax},
		{"-1", 0, ErrSyntax},
		{"+1", 0, ErrSyntax},
		{"1e3", 0, ErrSyntax},
		{".5M", 0, ErrSyntax},
		{"5.M", 0, ErrSyntax},
		{"1.2.3", 0, ErrSyntax},
		{"1 M", 0, ErrSyntax},
		{"NaN", 0, ErrSyntax},
		{"0x10", 0, ErrSyntax},
		{"1/s", 0, ErrSyntax},
		{strings.Repeat("1", 1000), 0, ErrSyntax},
	} {
		got, err := ParseSize(c.text)
		if c.text == "8388607.9999999T" {
			// A float's last digits are not the point; that it fits is.
			if err != nil || got < 8388607<<40 {
				t.Errorf("ParseSize(%q) = %d, %v", c.text, got, err)
			}
			continue
		}
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("ParseSize(%q) = %d, %v, want %d, %v", c.text, got, err, c.want, c.err)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("ParseSize(%.10q...): error of %d bytes", c.text, len(err.Error()))
		}
	}
}

func TestParseRate(t *testing.T) {
	for text, want := range map[string]int64{"2M": 2 << 20, "2M/s": 2 << 20, "10MB/S": 10e6, "5": 5} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "/s", "M/s", "1/s/s", "1Mbit/s"} {
		if got, err := ParseRate(text); !errors.Is(err, ErrSyntax) {
			t.Errorf("ParseRate(%q) = %d, %v, want ErrSyntax", text, got, err)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 1<<20 - 1: "1.0 MiB",
		250e6: "238.4 MiB", -2048: "-2.0 KiB", math.MaxInt64: "8.0 EiB", math.MinInt64: "-8.0 EiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	for _, seed := range []string{"0", "1.5M", "9223372036854775807", "8388607.99T", "2KB", "-1", "1.2.3", "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseSize(text)
		if n < 0 {
			t.Fatalf("ParseSize(%q) = %d", text, n)
		}
		if err != nil && n != 0 {
			t.Fatalf("ParseSize(%q) = %d with error %v", text, n, err)
		}
		rate, rateErr := ParseRate(text)
		if err == nil && (rateErr != nil || rate != n) {
			t.Fatalf("ParseRate(%q) = %d, %v, but ParseSize = %d", text, rate, rateErr, n)
		}
	})
}

func TestMbit(t *testing.T) {
	for _, c := range []struct {
		rate float64
		want string
	}{{0, "0.0 Mbit/s"}, {125_000, "1.0 Mbit/s"}, {10_250_000, "82.0 Mbit/s"}} {
		if got := Mbit(c.rate); got != c.want {
			t.Errorf("Mbit(%v) = %q, want %q", c.rate, got, c.want)
		}
	}
}

func TestClock(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{-time.Second, "0s"},
		{0, "0s"},
		{9400 * time.Millisecond, "9s"},
		{59600 * time.Millisecond, "1m00s"},
		{125 * time.Second, "2m05s"},
		{3*time.Hour + 7*time.Minute, "3h07m"},
		{98 * time.Hour, "4d02h"},
	} {
		if got := Clock(c.d); got != c.want {
			t.Errorf("Clock(%v) = %q, want %q", c.d, got, c.want)
		}
	}
}
