package record

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/event/eventtest"
	"github.com/mlget/mlget/internal/schematest"
)

// readSchema gives the schemas of lines by their event.
func readSchema(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	s, err := schematest.Read("../../docs/record.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	kinds := make(map[string]*jsonschema.Schema)
	for _, one := range s.AnyOf {
		kind, _ := (*one.Ref.Properties["event"].Const).(string)
		kinds[kind] = one.Ref
	}
	return kinds
}

// Every line that can be written is in the schema, and every line of the schema
// can be written.
func TestSchema(t *testing.T) {
	kinds := readSchema(t)
	lines := bytes.Split(bytes.TrimSpace(written(t, slices.Concat(eventtest.Every(), eventtest.TwoLinks(), eventtest.ManyFiles(7), eventtest.Empty(), eventtest.UnknownSize()))), []byte("\n"))
	seen := make(map[string]bool)
	for _, line := range lines {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		kind, _ := v["event"].(string)
		if kinds[kind] == nil {
			t.Errorf("docs/record.schema.json does not know %q", kind)
			continue
		}
		if err := kinds[kind].Validate(v); err != nil {
			t.Error(err)
		}
		for key := range v {
			seen[kind+"."+key] = true
		}
	}
	for kind, s := range kinds {
		for key := range s.Properties {
			if !seen[kind+"."+key] {
				t.Errorf("%s.%s is in the schema, and nobody writes it", kind, key)
			}
		}
	}
}

func TestSchemaRejects(t *testing.T) {
	kinds := readSchema(t)
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
		if kinds[kind].Validate(v) == nil {
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
