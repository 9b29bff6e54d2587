package get

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/cli/console"
	"github.com/mlget/mlget/internal/report"
)

func TestParseFormat(t *testing.T) {
	for format, want := range map[string][]formatPart{
		"":                {},
		"plain":           {{text: "plain"}},
		"%{url}":          {{variable: "url"}},
		"a%{url}b%{json}": {{text: "a"}, {variable: "url"}, {text: "b"}, {variable: "json"}},
		`%%{url}\n\t\r\q`: {{text: "%{url}\n\t\r\\q"}},
		"%{open":          {{text: "%{open"}},
		"%{}":             {{text: "%{}"}},
		"%":               {{text: "%"}},
		`\`:               {{text: `\`}},
		"%x":              {{text: "%x"}},
	} {
		if got := parseFormat(format); !slices.Equal(got, want) {
			t.Errorf("%q: %+v, want %+v", format, got, want)
		}
	}
}

// TestEveryVariable: each has a value, and JSON has all of them.
func TestEveryVariable(t *testing.T) {
	w, err := newWriteOut("%{json}", nil, func(text string) { t.Error(text) })
	if err != nil {
		t.Fatal(err)
	}
	r := report.Report{URL: "http://h/\x1b?a=1&b=<2>", Links: []report.Link{{Name: "wlan0", Bytes: 5, RemoteAddr: "[2001:db8::1]:443"}, {Name: "usb0"}}}
	var out, errs bytes.Buffer
	if err := w.write(r, nil, console.IO{Out: &out, Err: &errs}); err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(out.Bytes(), &v); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if len(v) != len(Variables())-len(control()) || errs.Len() > 0 {
		t.Errorf("%d variables: %s%s", len(v), out.String(), errs.String())
	}
	values := w.values(r, report.File{URL: r.URL}, 0, 0)
	for _, name := range Variables() {
		if _, ok := values[name]; !ok && !slices.Contains(control(), name) {
			t.Errorf("%s has no value", name)
		}
	}
	if v["url"] != r.URL || v["remote_ip"] != "2001:db8::1" || v["remote_port"] != 443.0 || !strings.Contains(out.String(), "&b=<2>") || v["size_download"] != 5.0 {
		t.Errorf("%s", out.String())
	}
}

func FuzzParseFormat(f *testing.F) {
	for _, s := range []string{"", "%{url}\\n", "%%", "%{json}%{", "\\", "%{nope}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, format string) {
		n := 0
		for _, p := range parseFormat(format) {
			if (p.text == "") == (p.variable == "") {
				t.Fatalf("%q: %+v", format, p)
			}
			n += len(p.text) + len(p.variable)
		}
		if n > len(format) {
			t.Fatalf("%q: %d bytes became %d", format, len(format), n)
		}
	})
}
