package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/identity"
)

// TestBytesOfAnotherObjectAreNotContinued: what a journal says of the bytes that are there
// is compared as answers are, by identity.Known.
func TestBytesOfAnotherObjectAreNotContinued(t *testing.T) {
	const day, next = "Mon, 01 Jun 2026 00:00:00 GMT", "Tue, 02 Jun 2026 00:00:00 GMT"
	for name, c := range map[string]struct {
		journal, server identity.Identity
		differs         bool
	}{
		"size":                           {identity.Identity{Size: 1000}, identity.Identity{Size: 1001}, true},
		"size, and too short":            {identity.Identity{Size: -1}, identity.Identity{Size: 399}, true},
		"size that is known by now":      {identity.Identity{Size: -1, ETag: `"a"`}, identity.Identity{Size: 1000, ETag: `"a"`}, false},
		"size that is not told any more": {identity.Identity{Size: 1000, ETag: `"a"`}, identity.Identity{Size: -1, ETag: `"a"`}, false},
		"encoding":                       {identity.Identity{Size: 1000}, identity.Identity{Size: 1000, Encoding: "gzip"}, true},
		"strong ETag":                    {identity.Identity{Size: 1000, ETag: `"a"`, LastModified: day}, identity.Identity{Size: 1000, ETag: `"b"`, LastModified: day}, true},
		"weak ETag":                      {identity.Identity{Size: 1000, ETag: `"a"`}, identity.Identity{Size: 1000, ETag: `W/"b"`}, true},
		"date of one strong ETag":        {identity.Identity{Size: 1000, ETag: `"a"`, LastModified: day}, identity.Identity{Size: 1000, ETag: `"a"`, LastModified: next}, false},
		"date of an ETag without quotes": {identity.Identity{Size: 1000, ETag: `a`, LastModified: day}, identity.Identity{Size: 1000, ETag: `a`, LastModified: next}, true},
		"date":                           {identity.Identity{Size: 1000, LastModified: day}, identity.Identity{Size: 1000, LastModified: next}, true},
		"nothing":                        {identity.Identity{Size: 1000, LastModified: day}, identity.Identity{Size: 1000, LastModified: day}, false},
	} {
		t.Run(name, func(t *testing.T) {
			to := Target{Dir: t.TempDir()}
			f := open(t, to, hereURL)
			must(t, f.Begin(c.journal))
			write(t, f, body, ranges(0, 400)[0])
			must(t, f.Suspend(ranges(0, 400)))
			f = open(t, to, hereURL)
			err := f.Begin(c.server)
			if errors.Is(err, ErrChanged) != c.differs || err != nil && !c.differs {
				t.Errorf("%v", err)
			}
			must(t, f.Close())
			f = open(t, to, hereURL)
			id, done, ok := f.Resume()
			if !ok || id.Size != max(c.journal.Size, c.server.Size) && !c.differs || endOf(done) != 400 {
				t.Errorf("left: %+v %v %v", id, done, ok)
			}
			must(t, f.Close())
		})
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
	got := keepable(identity.Identity{Size: -7, ETag: "\"\xff\"", LastModified: strings.Repeat("x", maxValidator+1)})
	if got != (identity.Identity{Size: -1}) {
		t.Fatalf("%+v", got)
	}
	id := identity.Identity{Size: 3, ETag: `"<&>` + "\x1b" + `"`, LastModified: "x"}
	if got := keepable(id); got != id {
		t.Fatalf("%+v", got)
	}
}
