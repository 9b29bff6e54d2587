package record

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/goldentest"
)

// TestSchemaIsThatOfTheTypes compares docs/record.schema.json with what the types and their
// comments say; with UPDATE_GOLDEN=1 it writes it.
func TestSchemaIsThatOfTheTypes(t *testing.T) {
	s := source{structs: make(map[string]*ast.StructType), docs: make(map[string]string), kinds: make(map[string]string), words: make(map[string][]string)}
	for _, dir := range []string{"../../pkg/scheduler", "../event"} {
		s.read(t, dir)
	}
	goldentest.File(t, "../../docs/record.schema.json", []byte(s.schema()))
}

// source is what is known of types by their sources.
type source struct {
	structs map[string]*ast.StructType
	docs    map[string]string
	kinds   map[string]string   // of events, by type
	words   map[string][]string // that a string type may be
	defs    []object
}

// object is a JSON object in its order: of pairs, or of one value that is written as it is.
type object struct {
	name  string
	pairs []object
	text  string
}

func text(name, value string) object {
	quoted, err := json.Marshal(value)
	if err != nil {
		panic(err) // a string always has a form
	}
	return object{name: name, text: string(quoted)}
}

func (s *source) read(t *testing.T, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			s.declared(d)
		}
	}
}

func (s *source) declared(d ast.Decl) {
	switch d := d.(type) {
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if st, ok := spec.Type.(*ast.StructType); ok && spec.Name.IsExported() {
					s.structs[spec.Name.Name], s.docs[spec.Name.Name] = st, comment(d.Doc)
				}
			case *ast.ValueSpec:
				of, ok := spec.Type.(*ast.Ident)
				for _, v := range spec.Values {
					if lit, isLit := v.(*ast.BasicLit); ok && isLit && lit.Kind == token.STRING {
						s.words[of.Name] = append(s.words[of.Name], lit.Value)
					}
				}
			}
		}
	case *ast.FuncDecl:
		if d.Name.Name == "Kind" && d.Recv != nil {
			if lit, ok := d.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.BasicLit); ok {
				s.kinds[d.Recv.List[0].Type.(*ast.Ident).Name] = strings.Trim(lit.Value, `"`)
			}
		}
	}
}

// comment is a comment's text on one line.
func comment(c *ast.CommentGroup) string {
	return strings.Join(strings.Fields(c.Text()), " ")
}

// schema is the whole file.
func (s *source) schema() string {
	types := slices.Sorted(maps.Keys(s.kinds))
	slices.SortFunc(types, func(a, b string) int { return strings.Compare(s.kinds[a], s.kinds[b]) })
	s.defs = append(s.defs, object{name: "record", pairs: []object{
		text("description", "The first line of a record."), text("type", "object"),
		{name: "properties", pairs: []object{
			{name: "event", pairs: []object{text("const", headerEvent)}},
			{name: "schema", pairs: []object{{name: "const", text: strconv.Itoa(Schema)}}},
		}},
		{name: "required", text: `["event", "schema"]`},
	}})
	lines := []string{`{ "$ref": "#/$defs/record" }`}
	for _, name := range types {
		s.define(name, s.kinds[name])
		lines = append(lines, `{ "$ref": "#/$defs/`+s.kinds[name]+`" }`)
	}
	slices.SortFunc(s.defs, func(a, b object) int { return strings.Compare(a.name, b.name) })
	return object{pairs: []object{
		text("$schema", "https://json-schema.org/draft/2020-12/schema"),
		text("$id", "https://github.com/mlget/mlget/docs/record.schema.json"),
		text("title", "A line of a record of mlget, schema "+strconv.Itoa(Schema)),
		text("description", `Times ("at", "sent", ...) are ns since the run began; *_ns are ns, *_bps bytes per second. Readers have to pass over events and fields that they do not know. `+
			"Made from the types' comments: UPDATE_GOLDEN=1 go test ./internal/record"),
		{name: "anyOf", text: "[\n    " + strings.Join(lines, ",\n    ") + "\n  ]"},
		{name: "$defs", pairs: s.defs},
	}}.render("") + "\n"
}

// define adds the definition of a struct: of an event, under its kind.
func (s *source) define(name, kind string) {
	under := name
	if kind != "" {
		under = kind
	}
	if slices.ContainsFunc(s.defs, func(o object) bool { return o.name == under }) {
		return
	}
	s.defs = append(s.defs, object{name: under}) // a type may hold itself
	at := len(s.defs) - 1
	var props []object
	var required []string
	if kind != "" {
		props, required = append(props, object{name: "event", pairs: []object{text("const", kind)}}), append(required, `"event"`)
	}
	for _, f := range s.structs[name].Fields.List {
		tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json")
		key, options, _ := strings.Cut(tag, ",")
		if tag == "-" { // no record has it
			continue
		}
		of := s.of(f.Type)
		says := comment(f.Comment)
		if says == "" {
			says = comment(f.Doc)
		}
		if says != "" && of[0].name != "$ref" {
			of = append([]object{text("description", says)}, of...)
		}
		props = append(props, object{name: key, pairs: of})
		if options == "" {
			required = append(required, strconv.Quote(key))
		}
	}
	def := object{name: under, pairs: []object{
		text("description", s.docs[name]), text("type", "object"),
		{name: "properties", pairs: props},
		{name: "required", text: "[" + strings.Join(required, ", ") + "]"},
	}}
	// What belongs to the scheduler changes with it.
	if kind == "" && name != "Range" && !strings.HasPrefix(name, "Link") && name != "TCPSegments" {
		def.pairs = append(def.pairs, object{name: "additionalProperties", text: "true"})
	}
	s.defs[at] = def
}

// of is the schema of a Go type.
func (s *source) of(e ast.Expr) []object {
	switch e := e.(type) {
	case *ast.ArrayType:
		return []object{{name: "type", text: `["array", "null"]`}, {name: "items", pairs: s.of(e.Elt)}}
	case *ast.SelectorExpr:
		if of, ok := e.X.(*ast.Ident); ok && of.Name == "time" && e.Sel.Name == "Time" {
			return []object{text("type", "string"), text("format", "date-time")}
		}
		return s.named(e.Sel.Name)
	case *ast.StarExpr: // absent where it is nil
		return s.of(e.X)
	case *ast.Ident:
		return s.named(e.Name)
	}
	panic(fmt.Sprintf("no schema for a %T: teach it here", e))
}

func (s *source) named(name string) []object {
	switch {
	case len(s.words[name]) > 0:
		return []object{text("type", "string"), {name: "enum", text: "[" + strings.Join(s.words[name], ", ") + "]"}}
	case name == "string":
		return []object{text("type", "string")}
	case name == "bool":
		return []object{text("type", "boolean")}
	case name == "float64":
		return []object{text("type", "number")}
	case name == "Time" && s.structs[name] == nil:
		return []object{text("type", "integer")}
	case s.structs[name] != nil:
		s.define(name, "")
		return []object{text("$ref", "#/$defs/"+name)}
	}
	return []object{text("type", "integer")}
}

// render writes an object on one line if it is small.
func (o object) render(indent string) string {
	if o.pairs == nil {
		return o.text
	}
	var flat, deep []string
	small := true
	for _, p := range o.pairs {
		name := strconv.Quote(p.name) + ": "
		flat = append(flat, name+p.render(""))
		deep = append(deep, indent+"  "+name+p.render(indent+"  "))
		small = small && len(p.pairs) < 2 && p.name != "properties"
	}
	if line := "{ " + strings.Join(flat, ", ") + " }"; small && !strings.Contains(line, "\n") {
		return line
	}
	return "{\n" + strings.Join(deep, ",\n") + "\n" + indent + "}"
}
