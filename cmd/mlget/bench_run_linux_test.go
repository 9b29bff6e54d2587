package main_test

import (
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/linklab"
)

// TestBenchRunOverTwoLinks: each link alone, both together, and a page of all that.
func TestBenchRunOverTwoLinks(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 2_000_000}, "wlan0,down=40,rtt=10", "rmnet0,down=20,rtt=20")
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	c := l.Command(ctx, "mlget", "bench", "run", "-l", "wlan0,rmnet0", "-n", "2", "--algorithm", "single,3", "-P", "out",
		"--cool-down", "0s", "--power-baseline", "0s", "--tail", "0s", l.URL(), "--", "--power", "none", "--checksum", "sha256="+l.SHA256())
	c.Dir = l.dir
	r := finish(t, c, c.Cmd)
	r.want(t, 0, "^mlget: 6 runs, 6 of them to do", "6 of 6: ")
	for _, want := range []string{"6 runs, 3 approaches", "single-link wlan0 ", "single-link rmnet0 ", "algorithm 3 "} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("there is no %q in the tables:\n%s", want, r.stdout)
		}
	}
	f, err := os.Open(filepath.Join(l.dir, "out", "runs.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it is only read
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	wlan, rmnet := slices.Index(rows[0], "wlan0_bytes"), slices.Index(rows[0], "rmnet0_bytes")
	if len(rows) != 7 || wlan < 0 || rmnet < 0 || rows[1][wlan] != "2000000" || rows[1][rmnet] != "" || rows[5][wlan] == "" || rows[5][rmnet] == "" {
		t.Errorf("%d rows: %v", len(rows), rows)
	}
	html, err := os.ReadFile(filepath.Join(l.dir, "out", "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Single-link wlan0: throughput (2 runs)", "Algorithm 3: throughput (2 runs)", "rmnet0: median ", "Download time"} {
		if !strings.Contains(string(html), want) {
			t.Errorf("there is no %q in the page", want)
		}
	}
}
