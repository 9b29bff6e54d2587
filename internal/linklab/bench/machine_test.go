package bench

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReadMachine(t *testing.T) {
	proc := t.TempDir()
	for name, text := range map[string]string{
		"cpuinfo":              "processor\t: 0\nmodel name\t: Fast One\nprocessor\t: 1\nmodel name\t: Fast One\n",
		"meminfo":              "MemTotal:       16000000 kB\nMemFree:        1 kB\n",
		"loadavg":              "1.25 0.50 0.10 1/100 12345\n",
		"sys/kernel/osrelease": "6.1.0-x\n",
	} {
		path := filepath.Join(proc, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := readMachine(proc)
	if m.CPU != "Fast One" || m.Cores < 1 || m.MemoryGB != 16.384 || m.Kernel != "Linux 6.1.0-x" {
		t.Errorf("%+v", m)
	}
	if v := loadAverage(proc); v != 1.25 {
		t.Errorf("%v", v)
	}
	if v := loadAverage(t.TempDir()); v != 0 {
		t.Errorf("%v", v)
	}
	if m := readMachine(t.TempDir()); m.CPU == "" || m.MemoryGB != 0 || m.Kernel != "" {
		t.Errorf("%+v", m)
	}
}

func TestFirstNumber(t *testing.T) {
	for text, want := range map[string]string{
		"aria2 version 1.36.0\nCopyright 2019":                     "1.36.0",
		"Axel 2.17.11 (linux-gnu)":                                 "2.17.11",
		"curl 7.88.1 (x86_64-pc-linux-gnu) libcurl/7.88.1 OpenSSL": "7.88.1",
		"nginx version: nginx/1.22.1":                              "1.22.1",
		"mlget 0.1.0":                                              "0.1.0",
		"":                                                         "of unknown version",
		"mlget dev\n1":                                             "of unknown version",
	} {
		if got := firstNumber(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func TestMissing(t *testing.T) {
	v := inventory{paths: map[string]string{"mlget": "/m", "curl": "/c"}}
	values := []string{"1", "3"}
	for _, c := range []struct {
		tool   string
		values []string
		want   string
	}{
		{"mlget-3", values, ""},
		{"mlget", nil, ""},
		{"mlget-naive", values, "this mlget has no --algorithm naive"},
		{"mlget-emtcp", values, "this mlget has no --energy emtcp"},
		{"axel", nil, "axel is not installed"},
		{"aria2-2", nil, "aria2c is not installed"},
		{"curl-best", nil, ""},
	} {
		if got := v.missing(mustParse(t, c.tool)[0], c.values); got != c.want {
			t.Errorf("%s: %q", c.tool, got)
		}
	}
	if got := v.missing(mustParse(t, "curl-mptcp")[0], nil); got != "mptcpize is not installed" {
		t.Errorf("curl-mptcp without mptcpize: %q", got)
	}
}
