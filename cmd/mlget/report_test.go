package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/report"
	"github.com/mlget/mlget/internal/schematest"
)

// checkReport holds a report against the schema, its keys both ways, and against
// what must be true of the numbers in it.
func checkReport(text []byte) error {
	s, err := schematest.Read("../../docs/report.schema.json")
	if err != nil {
		return err
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("the report is not JSON: %w", err)
	}
	if err := s.Validate(v); err != nil {
		return err
	}
	r, err := parseReport(text)
	if err != nil {
		return err
	}
	return checkSums(r)
}

// TestCheckReport: the check finds what is wrong, at any depth.
func TestCheckReport(t *testing.T) {
	sound, err := os.ReadFile("../../internal/report/testdata/modelled.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkReport(sound); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"tail_cut": false`, `"tail_cut": 0`},
		{`"modelled": true,
        "model"`, `"modelled": false,
        "model"`},
		{`"model": "lte"`, `"modell": "lte"`},
		{`"joules_per_100mb"`, `"joules_per_100mib"`},
		{`"energy": {`, `"energy": null, "energie": {`},
		{`"requests": 4`, `"requests": 4.5`},
		{`"state": "used"`, `"state": "fine"`},
	} {
		text := strings.Replace(string(sound), change[0], change[1], 1)
		if text == string(sound) {
			t.Errorf("there is no %s", change[0])
		} else if checkReport([]byte(text)) == nil {
			t.Errorf("%s may be %s", change[0], change[1])
		}
	}
}

func parseReport(text []byte) (report.Report, error) {
	var r report.Report
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return r, fmt.Errorf("report: %w", err)
	}
	if dec.More() {
		return r, fmt.Errorf("something follows the report")
	}
	return r, nil
}

// checkSums checks that a complete report's parts add up.
func checkSums(r report.Report) error {
	var bytes int64
	for _, l := range r.Links {
		bytes += l.Bytes
	}
	switch {
	case r.Schema != 1, r.Version == "", r.Started.IsZero():
		return fmt.Errorf("schema %d, version %q, started %v", r.Schema, r.Version, r.Started)
	case (r.ExitCode == 0) != (r.Error == ""):
		return fmt.Errorf("exit code %d, error %q", r.ExitCode, r.Error)
	case r.ExitCode == 0 && bytes+r.ResumedBytes != r.SizeBytes:
		return fmt.Errorf("links carried %d, %d were there, the size is %d", bytes, r.ResumedBytes, r.SizeBytes)
	case r.ExitCode == 0 && r.PowerUnavailable == "" && r.Power == nil:
		return fmt.Errorf("no power, and not why")
	case (r.Energy == nil) == (r.EnergyUnavailable == ""):
		return fmt.Errorf("energy %+v, unavailable %q", r.Energy, r.EnergyUnavailable)
	}
	return nil
}

// readReport reads a report from a file and checks it.
func readReport(t testing.TB, path string) report.Report {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return soundReport(t, text)
}

func soundReport(t testing.TB, text []byte) report.Report {
	t.Helper()
	if err := checkReport(text); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	r, err := parseReport(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
