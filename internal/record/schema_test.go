package record

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/event/eventtest"
	"github.com/mlget/mlget/internal/schematest"
)

func readSchema(t *testing.T) *schematest.Schema {
	t.Helper()
	s, err := schematest.Read("../../docs/record.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every line that can be written is in the schema, and every line of the schema
// can be written.
func TestSchema(t *testing.T) {
	s := readSchema(t)
	lines := bytes.Split(bytes.TrimSpace(written(t, slices.Concat(eventtest.Every(), eventtest.TwoLinks(), eventtest.ManyFiles(7), eventtest.Empty(), eventtest.UnknownSize()))), []byte("\n"))
	seen := make(map[string]bool)
	for _, line := range lines {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		kind, _ := v["event"].(string)
		if def, ok := s.Defs[kind]; !ok || def.Properties["event"].Const != kind {
			t.Errorf("docs/record.schema.json does not know %q", kind)
			continue
		}
		if err := s.CheckDef(kind, v, seen); err != nil {
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
	s := readSchema(t)
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
		if s.CheckDef(kind, v, nil) == nil {
			t.Errorf("%s is right by the schema", line)
		}
	}
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
