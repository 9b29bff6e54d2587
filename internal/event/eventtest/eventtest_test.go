package eventtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"testing"
)

// declaredEvents are the types of package event that have a Kind method.
func declaredEvents(t *testing.T) (names []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "../event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "Kind" {
			names = append(names, f.Recv.List[0].Type.(*ast.Ident).Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestEveryHasEveryType(t *testing.T) {
	var got []string
	for _, e := range Every() {
		v := reflect.ValueOf(e)
		got = append(got, v.Type().Name())
		for i := range v.NumField() {
			recorded := v.Type().Field(i).Tag.Get("json") != "-"
			if recorded && v.Field(i).IsZero() {
				t.Errorf("%s.%s is zero: its way through a record is not tested", v.Type().Name(), v.Type().Field(i).Name)
			}
		}
	}
	slices.Sort(got)
	if want := declaredEvents(t); !slices.Equal(got, want) {
		t.Errorf("Every has %v, package event has %v", got, want)
	}
}

func TestKindsDiffer(t *testing.T) {
	seen := map[string]bool{"record": true} // a record's header
	for _, e := range Every() {
		if seen[e.Kind()] {
			t.Errorf("kind %q is taken", e.Kind())
		}
		seen[e.Kind()] = true
	}
}
