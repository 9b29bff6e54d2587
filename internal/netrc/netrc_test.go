package netrc

import (
	"strings"
	"testing"
)

func TestFor(t *testing.T) {
	for _, c := range []struct{ text, host, user, password, why string }{
		{"machine h login u password p", "h", "u", "p", ""},
		{"machine h\n\tlogin u\r\n\tpassword p\r\n", "H", "u", "p", ""},
		{"machine h login u password p", "other", "", "", ""},
		{"default login u password p\nmachine h login v password q", "h", "v", "q", ""},
		{"machine h login v password q default login u password p", "other", "u", "p", ""},
		{"machine h login u password p machine h login v password q", "h", "u", "p", ""},
		{`machine h login u password "s:e cret"`, "h", "u", "s:e cret", ""},
		{`machine h login "a\"b\\c\n\td" password ""`, "h", "a\"b\\c\n\td", "", ""},
		{`machine h login u password p"q\r`, "h", "u", `p"q\r`, ""},
		{"machine h login u password #p", "h", "u", "#p", ""},
		{"# machine h login x password y\nmachine h # mine\n  login u password p", "h", "u", "p", ""},
		{"#\nmachine h login u password p", "h", "u", "p", ""},
		{"machine h password p account a login u", "h", "u", "p", ""},
		{"machine g login x\nmacdef init\nmachine h login no password no\n\nmachine h login u password p", "h", "u", "p", ""},
		{"macdef init\nmachine h login no", "h", "", "", ""},
		{"login x password y machine h login u password p", "h", "u", "p", ""},
		{"machine h nonsense login u password p", "h", "u", "p", ""},
		{"machine h", "h", "", "", ""},
		{"", "h", "", "", ""},
		{`machine "" login u password p`, "h", "", "", ""},
		{"machine h\nlogin u password", "h", "", "", "line 2: a word is missing"},
		{"machine h login u\npassword \"secret\n", "h", "", "", "line 2: a quote"},
		{"machine", "h", "", "", "line 1"},
	} {
		f, err := Parse(c.text)
		if c.why != "" {
			if err == nil || !strings.Contains(err.Error(), c.why) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%q: %v, want %q", c.text, err, c.why)
			}
			continue
		}
		user, password, _ := f.For(c.host, "")
		if err != nil || user != c.user || password != c.password {
			t.Errorf("%q: %q has %q, %q, %v, want %q, %q", c.text, c.host, user, password, err, c.user, c.password)
		}
	}
}

// TestForLogin: of several users of a host, the one that is asked for.
func TestForLogin(t *testing.T) {
	f, err := Parse("machine h login a password pa\nmachine h login b password pb\ndefault login c password pc")
	if err != nil {
		t.Fatal(err)
	}
	for login, want := range map[string]string{"": "pa", "a": "pa", "b": "pb", "c": "pc", "d": ""} {
		if _, password, ok := f.For("h", login); password != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", login, password, want)
		}
	}
}

// FuzzParse: nothing hangs or panics, and who asks for a host that is named nowhere
// gets only what default says.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"machine h login u password p", "default login u", `machine "h\"" password "`, "macdef x\n\nmachine h", "#\n#", "macdef", "machine",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse(text)
		if err != nil {
			if len(file.entries) > 0 || len(err.Error()) > 100 {
				t.Fatalf("%q: %v, and %d entries", text, err, len(file.entries))
			}
			return
		}
		const nowhere = "no such host, by its blanks"
		if strings.Contains(text, "default") || strings.ContainsAny(text, `"\`) {
			return
		}
		if _, _, ok := file.For(nowhere, ""); ok {
			t.Fatalf("%q has something for every host", text)
		}
	})
}
