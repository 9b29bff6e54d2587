// Package schematest holds JSON against the schemas in docs, for tests. It knows
// as much of JSON Schema as these use, and is stricter: a field that a schema does
// not name is a fault, unless the schema says that there may be others. Who reads
// mlget's JSON has to pass over such fields; who tests it must not.
//
// All functions are pure but for the map that Check is given.
package schematest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
)

// Schema is a schema, or a part of one.
type Schema struct {
	Type       any               `json:"type"` // a name, or several
	Const      any               `json:"const"`
	Enum       []any             `json:"enum"`
	Properties map[string]Schema `json:"properties"`
	Required   []string          `json:"required"`
	Others     *others           `json:"additionalProperties"` // nil: there are none
	Items      *Schema           `json:"items"`
	AnyOf      []Schema          `json:"anyOf"`
	Ref        string            `json:"$ref"`
	Defs       map[string]Schema `json:"$defs"`
}

// others is what the fields of an object hold that have no names in the schema.
type others struct {
	anything bool
	Schema
}

// UnmarshalJSON reads true, false, or a schema.
func (o *others) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &o.anything) == nil {
		return nil
	}
	return json.Unmarshal(text, &o.Schema)
}

// defs begins a reference.
const defs = "#/$defs/"

// Read reads a schema from a file.
func Read(path string) (*Schema, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var s Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &s, nil
}

// Check holds v against the schema. name is what v is called in errors.
func (s *Schema) Check(name string, v any) error { return check{s.Defs, nil}.value(*s, name, v) }

// CheckDef holds v against one of the schema's definitions, and marks in seen, as
// DEFINITION.FIELD, which fields there were.
func (s *Schema) CheckDef(name string, v any, seen map[string]bool) error {
	return check{s.Defs, seen}.value(Schema{Ref: defs + name}, name, v)
}

// check is a check under way.
type check struct {
	defs map[string]Schema // what references lead to
	seen map[string]bool   // nil: nobody wants to know
}

// value holds v against s; at is where it stands.
func (c check) value(s Schema, at string, v any) error {
	if c.seen != nil {
		c.seen[at] = true
	}
	if name, ok := strings.CutPrefix(s.Ref, defs); ok {
		if s, ok = c.defs[name]; !ok {
			return fmt.Errorf("%s: there is no %q", at, name)
		}
	}
	if len(s.AnyOf) > 0 {
		var errs []error
		for _, one := range s.AnyOf {
			err := c.value(one, at, v)
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
	switch {
	case !isOf(v, s.Type):
		return fmt.Errorf("%s is %v, which is no %v", at, v, s.Type)
	case s.Const != nil && s.Const != v, s.Enum != nil && !slices.Contains(s.Enum, v):
		return fmt.Errorf("%s is %v, which it cannot be", at, v)
	}
	switch v := v.(type) {
	case map[string]any:
		return c.object(s, at, v)
	case []any:
		for i, value := range v {
			if s.Items == nil {
				return fmt.Errorf("%s is a list, of which the schema does not say what it holds", at)
			}
			if err := c.value(*s.Items, fmt.Sprintf("%s[%d]", at, i), value); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c check) object(s Schema, at string, v map[string]any) error {
	for key, value := range v {
		field, ok := s.Properties[key]
		switch {
		case ok:
		case s.Others == nil:
			return fmt.Errorf("%s.%s is not in the schema", at, key)
		case s.Others.anything:
			continue
		default:
			field = s.Others.Schema
		}
		if err := c.value(field, at+"."+key, value); err != nil {
			return err
		}
	}
	for _, key := range s.Required {
		if _, ok := v[key]; !ok {
			return fmt.Errorf("%s.%s is missing", at, key)
		}
	}
	return nil
}

// isOf says whether v is of a type that JSON Schema calls by that name, or by one
// of these names; nil is any.
func isOf(v, names any) bool {
	switch names := names.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(names, func(one any) bool { return isOf(v, one) })
	}
	switch v := v.(type) {
	case nil:
		return names == "null"
	case bool:
		return names == "boolean"
	case string:
		return names == "string"
	case float64:
		return names == "number" || names == "integer" && v == math.Trunc(v)
	case []any:
		return names == "array"
	case map[string]any:
		return names == "object"
	}
	return false
}
