package power

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestParseNumber(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "412000\n": 412000, " -7 \t\r\n": -7, "12\x00\x00": 12, "-0": 0,
		"9223372036854775807": math.MaxInt64, "-9223372036854775807": -math.MaxInt64,
	} {
		if n, ok := parseNumber([]byte(text)); !ok || n != want {
			t.Errorf("%q is %d, %v", text, n, ok)
		}
	}
	for _, text := range []string{"", "\n", "-", "+1", "1.5", "1 2", "0x10", "9223372036854775808", "99999999999999999999", "１", "1\x002"} {
		if n, ok := parseNumber([]byte(text)); ok {
			t.Errorf("%q is %d", text, n)
		}
	}
}

func TestParseWord(t *testing.T) {
	for text, want := range map[string]string{
		"Discharging\n": "Discharging", "": "", "two\nlines": "two", "\x1b[2Jx": "?[2Jx", "µ": "??",
		strings.Repeat("a", 5000): strings.Repeat("a", maxWord),
	} {
		if got := parseWord([]byte(text)); got != want {
			t.Errorf("%q is %q", text, got)
		}
	}
}

func TestParseRail(t *testing.T) {
	for line, want := range map[string]int64{
		"CH3(T=123)[RAIL], 456\n": 456, "CH0(T=350490)[S10M_VDD_TPU],3161249": 3161249,
	} {
		channel, name, count, ok := parseRail([]byte(line))
		if !ok || count != want || channel != int(line[2]-'0') || !strings.Contains(line, "["+string(name)+"]") {
			t.Errorf("%q: %d %q %d %v", line, channel, name, count, ok)
		}
	}
	for _, line := range []string{
		"", "t=350490", "CH", "CH3", "CH3(T=1)", "CH3(T=1)[X]", "CH3(T=1)[X],", "CH3(T=1)[X], -5", "CH3(T=1)[X], 5 6",
		"CH64(T=1)[X], 5", "CH-1(T=1)[X], 5", "CH9223372036854775808(T=1)[X], 5", "CH3(T=1)[" + strings.Repeat("x", 65) + "], 5",
	} {
		if channel, name, count, ok := parseRail([]byte(line)); ok {
			t.Errorf("%q: %d %q %d", line, channel, name, count)
		}
	}
}

func TestParseTermux(t *testing.T) {
	for _, c := range []struct {
		text     string
		unit     Unit
		watts    float64
		external bool
	}{
		{`{"plugged":"UNPLUGGED","status":"DISCHARGING","voltage":3900,"current":-350000,"energy":-9223372036854775808}`, UnitAuto, 1.365, false},
		{`{"plugged":"UNPLUGGED","status":"DISCHARGING","voltage":4000,"current":-1500}`, UnitAuto, 6, false}, // mA, passed on
		{`{"plugged":"UNPLUGGED","status":"DISCHARGING","voltage":4000,"current":1500}`, MicroAmps, 0.006, false},
		{`{"plugged":"UNPLUGGED","status":"DISCHARGING","voltage":4000,"current":1500}`, MilliAmps, 6, false},
		{`{"plugged":"UNPLUGGED","status":"DISCHARGING","voltage":4000,"current":500000}`, MilliAmps, 2, false}, // mA, below 1000
		{`{"plugged":"PLUGGED_AC","status":"NOT_CHARGING","voltage":4000,"current":100000}`, UnitAuto, 0.4, true},
		{`{"plugged":"PLUGGED_USB","status":"UNKNOWN","voltage":4000,"current":100000}`, UnitAuto, 0.4, true},
		{`{"plugged":"UNPLUGGED","status":"UNKNOWN","voltage":4000,"current":100000}`, UnitAuto, 0.4, false},
		{`{"plugged":"PLUGGED_AC","status":"FULL","voltage":4350,"current":0}`, UnitAuto, 0, true},
	} {
		s, err := parseTermux([]byte(c.text), c.unit)
		if err != nil || math.Abs(s.watts-c.watts) > 1e-9 || s.external != c.external {
			t.Errorf("%s: %+v, %v", c.text, s, err)
		}
	}
	for _, text := range []string{
		``, `null`, `[]`, `{}`, `{"voltage":4000}`, `{"current":5}`, `{"voltage":4000,"current":0}`, `{"voltage":4,"current":100000}`,
		`{"voltage":-4000,"current":100000}`, `{"voltage":4000,"current":1e300}`, `{"voltage":1e300,"current":100000}`,
		`{"voltage":"4000","current":100000}`, `{"voltage":4000,"current":100000`, `The app is not installed`,
	} {
		if s, err := parseTermux([]byte(text), UnitAuto); err == nil {
			t.Errorf("%s: %+v", text, s)
		}
	}
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"412000\n", "-1", "", "99999999999999999999", "1.5", "-\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, ok := parseNumber(text)
		want, err := strconv.ParseInt(string(bytes.Trim(text, " \t\r\n\x00")), 10, 64)
		if signed := bytes.HasPrefix(trim(text), []byte("+")); signed || want == math.MinInt64 {
			return // which the standard library believes
		}
		if ok != (err == nil) || ok && n != want {
			t.Errorf("%q is %d, %v; strconv says %d, %v", text, n, ok, want, err)
		}
	})
}

func FuzzWord(f *testing.F) {
	f.Add([]byte("Discharging\n"))
	f.Add([]byte("\x1b]0;x\a\nmore"))
	f.Fuzz(func(t *testing.T, text []byte) {
		word := parseWord(text)
		if len(word) > maxWord || strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q gives %q", text, word)
		}
		if parseStatus(word) == discharging && !strings.EqualFold(word, "discharging") {
			t.Errorf("%q is discharging", word)
		}
	})
}

func FuzzRail(f *testing.F) {
	for _, s := range []string{"CH3(T=123)[RAIL], 456\n", "CH3(T=123)[RAIL", "t=350490", "CH3(T=)[],0"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		channel, name, count, ok := parseRail(line)
		if ok && (channel < 0 || channel >= maxRails || count < 0 || len(name) > maxWord) {
			t.Errorf("%q: %d %q %d", line, channel, name, count)
		}
	})
}

func FuzzTermux(f *testing.F) {
	f.Add([]byte(`{"plugged":"UNPLUGGED","status":"DISCHARGING","voltage":3900,"current":-350000}`))
	f.Add([]byte(`{"voltage":1e999,"current":-0}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseTermux(text, UnitAuto)
		if err == nil && !(s.watts >= 0 && s.watts <= maxWatts) {
			t.Errorf("%q: %+v", text, s)
		}
	})
}
