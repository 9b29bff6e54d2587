package progress

import (
	"bytes"
	"testing"
)

// TestTable: rows that somebody else keeps look like a run's bars; what comes from elsewhere
// cannot steer the terminal.
func TestTable(t *testing.T) {
	var b bytes.Buffer
	table := NewTable(&b)
	rows := []Row{
		{Name: "wlan0", Done: 1 << 20, Size: 4 << 20, Rate: 10e6 / 8},
		{Name: "0a \x1b[2J.iso", Done: 1 << 20, State: "waiting"},
	}
	if err := table.Show(rows, []string{"failed: \x1b[2J", "1 active"}); err != nil {
		t.Fatal(err)
	}
	if err := table.Show(rows[:1], nil); err != nil {
		t.Fatal(err)
	}
	const want = `wlan0          [======                   ]   1.0 MiB  10.0 Mbit/s  25 %
0a \x1b[2J.iso                               1.0 MiB                  - waiting
failed: \x1b[2J
1 active

wlan0 [==========                                ]   1.0 MiB  10.0 Mbit/s  25 %
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}
