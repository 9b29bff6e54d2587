package page

import (
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mlget/mlget/internal/schematest"
	"github.com/mlget/mlget/internal/study"
)

// TestJSONSchema: docs/study.schema.json is what is written, and names every metric's form.
func TestJSONSchema(t *testing.T) {
	schema, err := schematest.Read("../../docs/study.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	empty := study.New(nil, []error{errors.New("not a run")})
	nothing := study.New([]*study.Run{{Name: "x"}}, nil)
	for name, s := range map[string]*study.Study{"three runs each": small(t), "no run": empty, "nothing known": nothing} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(written(t, s, ".json")))
		if err == nil {
			err = schema.Validate(doc)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for what, bad := range map[string]string{
		"a number as text":     strings.Replace(written(t, small(t), ".json"), `"n": 3`, `"n": "3"`, 1),
		"a field nobody knows": strings.Replace(written(t, small(t), ".json"), `"n": 3`, `"n": 3, "m": 3`, 1),
	} {
		if doc, err := jsonschema.UnmarshalJSON(strings.NewReader(bad)); err != nil || schema.Validate(doc) == nil {
			t.Errorf("%s is let through: %v", what, err)
		}
	}
}
