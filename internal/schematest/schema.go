// Package schematest reads the schemas in docs, for tests.
package schematest

import (
	"fmt"
	"os"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Read reads a schema from a file, and is stricter than it: a field that the schema
// does not name is a fault, unless it says that there may be others. Who reads mlget's
// JSON has to pass over such fields; who tests it must not.
func Read(path string) (*jsonschema.Schema, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is only read
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	restrict(doc)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource(path, doc); err != nil {
		return nil, err
	}
	return c.Compile(path)
}

// restrict lets objects below v have no fields but those that are named.
func restrict(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, below := range v {
			restrict(below)
		}
		_, named := v["properties"].(map[string]any)
		if _, told := v["additionalProperties"]; named && !told {
			v["additionalProperties"] = false
		}
	case []any:
		for _, below := range v {
			restrict(below)
		}
	}
}
