package store

import (
	"strings"
	"testing"
)

func TestSameObject(t *testing.T) {
	const day, next = "Mon, 01 Jun 2026 00:00:00 GMT", "Tue, 02 Jun 2026 00:00:00 GMT"
	for name, c := range map[string]struct {
		journal, server Identity
		want            Match
	}{
		"sizes differ":               {Identity{1, `"a"`, day, ""}, Identity{2, `"a"`, day, ""}, Differs},
		"size not known any more":    {Identity{1, `"a"`, day, ""}, Identity{-1, `"a"`, day, ""}, Differs},
		"size known by now":          {Identity{-1, `"a"`, day, ""}, Identity{5, `"a"`, day, ""}, Differs},
		"strong tags agree":          {Identity{1, `"a"`, day, ""}, Identity{1, `"a"`, next, ""}, Same},
		"strong tags differ":         {Identity{1, `"a"`, day, ""}, Identity{1, `"b"`, day, ""}, Differs},
		"tags agree, sizes unknown":  {Identity{-1, `"a"`, "", ""}, Identity{-1, `"a"`, "", ""}, Same},
		"weak tags differ":           {Identity{1, `W/"a"`, day, ""}, Identity{1, `W/"b"`, day, ""}, Differs},
		"weak tags differ, nothing":  {Identity{1, `W/"a"`, "", ""}, Identity{1, `W/"b"`, "", ""}, Differs},
		"weak tags agree":            {Identity{1, `W/"a"`, day, ""}, Identity{1, `W/"a"`, day, ""}, Same},
		"weak tags, other letters":   {Identity{1, `W/"a"`, day, ""}, Identity{1, `w/"a"`, day, ""}, Same},
		"weak tags agree, nothing":   {Identity{1, `W/"a"`, "", ""}, Identity{1, `W/"a"`, "", ""}, Unproven},
		"weak tags agree, date not":  {Identity{1, `W/"a"`, day, ""}, Identity{1, `W/"a"`, next, ""}, Differs},
		"one weak, one strong":       {Identity{1, `W/"a"`, "", ""}, Identity{1, `"a"`, "", ""}, Unproven},
		"one weak, both of a date":   {Identity{1, `W/"a"`, day, ""}, Identity{1, `"a"`, day, ""}, Same},
		"one weak, they differ":      {Identity{1, `"a"`, day, ""}, Identity{1, `W/"b"`, day, ""}, Differs},
		"tag here, date there":       {Identity{1, `"a"`, "", ""}, Identity{1, "", day, ""}, Unproven},
		"dates agree":                {Identity{1, "", day, ""}, Identity{1, `"a"`, day, ""}, Same},
		"dates differ":               {Identity{1, "", day, ""}, Identity{1, "", next, ""}, Differs},
		"size only":                  {Identity{1, "", "", ""}, Identity{1, "", "", ""}, Unproven},
		"encodings differ":           {Identity{1, `"a"`, day, ""}, Identity{1, `"a"`, day, "gzip"}, Differs},
		"encodings agree":            {Identity{1, `"a"`, day, "gzip"}, Identity{1, `"a"`, day, "gzip"}, Same},
		"another tool, encoded":      {Identity{Size: -1}, Identity{9, `"a"`, day, "gzip"}, Unproven},
		"bytes of another tool":      {Identity{Size: -1}, Identity{9, `"a"`, day, ""}, Unproven},
		"another tool, nothing said": {Identity{Size: -1}, Identity{Size: -1}, Unproven},
	} {
		if got := SameObject(c.journal, c.server); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestOriginHoldsNoSecret(t *testing.T) {
	const secret = "s3cr3t"
	o := originOf(parse(t, "https://joe:"+secret+"@h.example/a/b?sig="+secret+"#"+secret))
	if strings.Contains(o.display+o.sum, secret) || o.display != "https://h.example/a/b" {
		t.Fatalf("%+v", o)
	}
	for u, same := range map[string]bool{
		"https://h.example/a/b?sig=" + secret:          true,
		"https://other:pw@h.example/a/b?sig=" + secret: true,
		"https://h.example/a/b?sig=other":              false,
		"https://h.example/a/b":                        false,
		"http://h.example/a/b?sig=" + secret:           false,
	} {
		if got := originOf(parse(t, u)).sum == o.sum; got != same {
			t.Errorf("%s: same is %v, want %v", u, got, same)
		}
	}
}

func TestValidatorsThatCannotBeKept(t *testing.T) {
	got := Identity{Size: -7, ETag: "\"\xff\"", LastModified: strings.Repeat("x", maxValidator+1)}.keepable()
	if got != (Identity{Size: -1}) {
		t.Fatalf("%+v", got)
	}
	id := Identity{Size: 3, ETag: `"<&>` + "\x1b" + `"`, LastModified: "x"}
	if got := id.keepable(); got != id {
		t.Fatalf("%+v", got)
	}
}
