package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/event/eventtest"
)

// spec is as much of JSON Schema as docs/record.schema.json uses.
type spec struct {
	Type       any             `json:"type"` // a name, or several
	Const      any             `json:"const"`
	Enum       []any           `json:"enum"`
	Properties map[string]spec `json:"properties"`
	Required   []string        `json:"required"`
	Additional bool            `json:"additionalProperties"` // here, only if it says so
	Items      *spec           `json:"items"`
	AnyOf      []spec          `json:"anyOf"`
	Ref        string          `json:"$ref"`
	Defs       map[string]spec `json:"$defs"`
}

func readSpec(t *testing.T) spec {
	t.Helper()
	text, err := os.ReadFile("../../docs/record.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s spec
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// Every line that can be written is in the schema, and every line of the schema
// can be written.
func TestSchema(t *testing.T) {
	s := readSpec(t)
	lines := bytes.Split(bytes.TrimSpace(written(t, slices.Concat(eventtest.Every(), eventtest.TwoLinks(), eventtest.ManyFiles(7), eventtest.Empty(), eventtest.UnknownSize()))), []byte("\n"))
	seen := make(map[string]bool)
	for _, line := range lines {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		kind, _ := v["event"].(string)
		def, ok := s.Defs[kind]
		if !ok || def.Properties["event"].Const != kind {
			t.Errorf("docs/record.schema.json does not know %q", kind)
			continue
		}
		if err := def.check(s.Defs, kind, v, seen); err != nil {
			t.Error(err)
		}
	}
	named := make(map[string]bool)
	for _, one := range s.AnyOf {
		named[strings.TrimPrefix(one.Ref, "#/$defs/")] = true
	}
	for _, kind := range slices.Sorted(maps.Keys(s.Defs)) {
		def := s.Defs[kind]
		if _, isLine := def.Properties["event"]; isLine != named[kind] {
			t.Errorf("%s is among the lines of the schema, or an event, but not both", kind)
		}
		for _, key := range slices.Sorted(maps.Keys(def.Properties)) {
			if named[kind] && !seen[kind+"."+key] {
				t.Errorf("%s.%s is in the schema, and nobody writes it", kind, key)
			}
		}
	}
}

func TestSchemaRejects(t *testing.T) {
	s := readSpec(t)
	for _, line := range []string{
		`{"event":"notice","at":"soon","warning":false,"text":""}`,
		`{"event":"notice","at":1,"warning":false}`,
		`{"event":"notice","at":1,"warning":false,"text":"","colour":1}`,
		`{"event":"link_changed","at":1,"link":0,"state":"happy"}`,
		`{"event":"usage","at":1.5,"cpu_ns":1,"rss_bytes":1}`,
		`{"event":"record","schema":2}`,
	} {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		kind, _ := v["event"].(string)
		if s.Defs[kind].check(s.Defs, kind, v, make(map[string]bool)) == nil {
			t.Errorf("%s is right by the schema", line)
		}
	}
}

// check holds v against s; at is where v stands, and seen gets every place.
func (s spec) check(defs map[string]spec, at string, v any, seen map[string]bool) error {
	seen[at] = true
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		s, ok = defs[name]
		if !ok {
			return fmt.Errorf("%s: there is no %q", at, name)
		}
	}
	switch {
	case !isOf(v, s.Type):
		return fmt.Errorf("%s is %v, which is no %v", at, v, s.Type)
	case s.Const != nil && s.Const != v, s.Enum != nil && !slices.Contains(s.Enum, v):
		return fmt.Errorf("%s is %v, which it cannot be", at, v)
	}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			p, ok := s.Properties[key]
			if !ok && !s.Additional {
				return fmt.Errorf("%s.%s is not in docs/record.schema.json", at, key)
			}
			if err := p.check(defs, at+"."+key, value, seen); err != nil {
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
				break // part of what the schema leaves open
			}
			if err := s.Items.check(defs, fmt.Sprintf("%s[%d]", at, i), value, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// isOf says whether v is of a type that JSON Schema calls by that name, or by one
// of these names.
func isOf(v, names any) bool {
	switch names := names.(type) {
	case nil:
		return true
	case []any:
		return slices.ContainsFunc(names, func(one any) bool { return isOf(v, one) })
	case string:
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
	}
	return false
}

// Kinds that a reader does not know are passed over; those that it knows are all
// that there are.
func TestReaderKnowsEveryKind(t *testing.T) {
	for _, e := range eventtest.Every() {
		got, err := decode([]byte(`{"event":"` + e.Kind() + `"}`))
		if err != nil || got == nil || got.Kind() != e.Kind() {
			t.Errorf("%s is read as %v, %v", e.Kind(), got, err)
		}
	}
	if got, err := decode([]byte(`{"event":"comet"}`)); got != event.Event(nil) || err != nil {
		t.Errorf("an unknown kind is read as %v, %v", got, err)
	}
}
