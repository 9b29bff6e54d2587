package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/report"
)

// schema is as much of JSON Schema as docs/report.schema.json uses for keys.
type schema struct {
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	Ref        string            `json:"$ref"`
	Defs       map[string]schema `json:"$defs"`
}

// checkReport holds a report against the schema's keys, both ways, and against
// what must be true of the numbers in it.
func checkReport(text []byte) error {
	spec, err := os.ReadFile("../../docs/report.schema.json")
	if err != nil {
		return err
	}
	var s schema
	if err := json.Unmarshal(spec, &s); err != nil {
		return err
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("the report is not JSON: %w", err)
	}
	if err := s.check(s.Defs, "report", v); err != nil {
		return err
	}
	r, err := parseReport(text)
	if err != nil {
		return err
	}
	return checkSums(r)
}

// check checks v's keys; defs are what references lead to.
func (s schema) check(defs map[string]schema, at string, v any) error {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		s = defs[name]
	}
	switch v := v.(type) {
	case map[string]any:
		if len(s.Properties) == 0 {
			return nil
		}
		for key, value := range v {
			p, ok := s.Properties[key]
			if !ok {
				return fmt.Errorf("%s.%s is not in the schema", at, key)
			}
			if err := p.check(defs, at+"."+key, value); err != nil {
				return err
			}
		}
		for _, key := range s.Required {
			if _, ok := v[key]; !ok {
				return fmt.Errorf("%s.%s is missing", at, key)
			}
		}
	case []any:
		for i, value := range v {
			if s.Items == nil {
				return fmt.Errorf("%s is a list, which the schema does not know", at)
			}
			if err := s.Items.check(defs, fmt.Sprintf("%s[%d]", at, i), value); err != nil {
				return err
			}
		}
	}
	return nil
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
