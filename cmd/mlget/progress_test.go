package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mlget/mlget/internal/schematest"
)

// checkLines holds JSON lines against the schema, and says how many are which.
func checkLines(s *jsonschema.Schema, text string) (kinds map[string]int, err error) {
	kinds = map[string]int{}
	for line := range strings.Lines(text) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			return kinds, fmt.Errorf("%q: %w", line, err)
		}
		if err := s.Validate(v); err != nil {
			return kinds, fmt.Errorf("%q: %w", line, err)
		}
		kinds[fmt.Sprint(v["event"])]++
	}
	return kinds, nil
}

// TestProgressSchema: what --progress json writes is what its schema says, all
// lines that are kept as golden ones included; and the schema says no to others.
func TestProgressSchema(t *testing.T) {
	t.Parallel()
	s, err := schematest.Read("../../docs/progress.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../internal/progress/testdata/*.json")
	if err != nil || len(files) < 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := checkLines(s, string(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	site, dir := newSite(t), t.TempDir()
	r := mlget(t, dir, "--progress", "json", "-v", "--limit-rate", "1MB", site.clear.URL+"/ranges/2500000/f.bin")
	r.want(t, 0)
	kinds, err := checkLines(s, r.stderr)
	if err != nil || kinds["progress"] < 2 {
		t.Errorf("%v, %v", kinds, err)
	}
	for _, wrong := range []string{
		`{"event":"progress"}`, `{"event":"notice","warning":1,"text":""}`, `{"event":"other"}`, `{"event":"notice","warning":true,"text":"","more":1}`,
	} {
		if _, err := checkLines(s, wrong); err == nil {
			t.Errorf("%s passes", wrong)
		}
	}
}
