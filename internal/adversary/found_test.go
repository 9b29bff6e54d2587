package adversary_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/mlget/mlget/internal/adversary"
)

// load reads a history that was saved.
func load(t *testing.T, name string) *adversary.World {
	t.Helper()
	data, err := os.ReadFile(name)
	w := new(adversary.World)
	if err == nil {
		err = json.Unmarshal(data, w)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// save writes a history to MLGET_ADVERSARY_SAVE, if that is set: its fields that are not zero.
func save(t *testing.T, w *adversary.World) {
	t.Helper()
	name := os.Getenv("MLGET_ADVERSARY_SAVE")
	if name == "" {
		return
	}
	full, err := json.Marshal(w)
	var fields any
	if err == nil {
		err = json.Unmarshal(full, &fields)
	}
	var short []byte
	if err == nil {
		short, err = json.MarshalIndent(prune(fields), "", "\t")
	}
	if err == nil {
		err = os.WriteFile(name, append(short, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// prune is a JSON value without fields that have their zero value.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, field := range v {
			switch field {
			case nil, false, "", 0.0:
				delete(v, name)
			default:
				v[name] = prune(field)
			}
		}
	case []any:
		for i := range v {
			v[i] = prune(v[i])
		}
	}
	return v
}

// TestFound plays histories that were found, made as small as they still failed, and mended.
// Each is played some times, as what happens at the same moment happens in any order.
func TestFound(t *testing.T) {
	base := memory(t)
	names, err := filepath.Glob("testdata/found/*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("%d histories (%v)", len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			for range 5 {
				if findings, _ := play(t, load(t, name), base); len(findings) > 0 {
					t.Fatal(findings)
				}
			}
		})
	}
}
