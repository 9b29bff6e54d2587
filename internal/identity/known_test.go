package identity

import "testing"

// c is a claim: "size etag date", with - for what is not told.
func c(size int64, etag, date string) Claim {
	return Claim{Identity: Identity{Size: size, ETag: etag, LastModified: date}}
}

// TestValidatorsAreCompared after RFC 9110, 8.8: what agrees proves, what differs refutes,
// and what only one of them has is no evidence.
func TestValidatorsAreCompared(t *testing.T) {
	base := c(10, `"a"`, "x")
	encoded := base
	encoded.Encoding = "gzip"
	recent := c(10, "", "x")
	recent.Recent = true
	digest := func(c Claim, d string) Claim { c.SHA256 = d; return c }
	digest512 := func(c Claim, d string) Claim { c.SHA512 = d; return c }
	for _, test := range []struct {
		name      string
		one, then Claim
		want      Verdict
	}{
		{"equal", base, base, Proven},
		{"size differs", base, c(11, `"a"`, "x"), Differs},
		{"size not told", base, c(-1, `"a"`, "x"), Proven},
		{"strong ETag differs", base, c(10, `"b"`, "x"), Differs},
		{"strong ETag agrees, date differs", base, c(10, `"a"`, "y"), Proven},
		{"weak ETag, same opaque part, same date", base, c(10, `W/"a"`, "x"), Proven},
		{"weak ETag, same opaque part, other date", base, c(10, `W/"a"`, "y"), Differs},
		{"weak ETag, same opaque part, no date", base, c(10, `W/"a"`, ""), Unproven},
		{"weak ETag differs", c(10, `W/"a"`, ""), c(10, `W/"b"`, ""), Differs},
		{"no quotes, equal", c(10, `a`, ""), c(10, `a`, ""), Unproven},
		{"no ETag, same date", base, c(10, "", "x"), Proven},
		{"no ETag, other date", base, c(10, "", "y"), Differs},
		{"only an ETag, then only a date", c(10, `"a"`, ""), c(10, "", "x"), Unproven},
		{"only a date, then an ETag as well", c(10, "", "x"), c(10, `"a"`, "x"), Unproven},
		{"same date, within its second", c(10, "", "x"), recent, Unproven},
		{"nothing, then an ETag", c(10, "", ""), base, Unproven},
		{"an ETag, then nothing", base, c(10, "", ""), Unproven},
		{"nothing at all", c(10, "", ""), c(10, "", ""), Unproven},
		{"encoding differs", base, encoded, Differs},
		{"digest agrees, ETag differs", digest(base, "d"), digest(c(10, `"b"`, "y"), "d"), Proven},
		{"digest differs, ETag agrees", digest(base, "d"), digest(base, "e"), Differs},
		{"digest of one only", digest(base, "d"), c(10, "", ""), Unproven},
		{"the longer digest agrees", digest512(base, "d"), digest512(c(10, `"b"`, "y"), "d"), Proven},
		{"the longer digest differs", digest512(base, "d"), digest512(base, "e"), Differs},
		{"one digest agrees, the other differs", digest512(digest(base, "d"), "d"), digest512(digest(base, "d"), "e"), Differs},
	} {
		var k Known
		k.Learn(test.one)
		if got, what := k.Judge(test.then); got != test.want {
			t.Errorf("%s: %v (%s), want %v", test.name, got, what, test.want)
		}
	}
}

// TestIdentityIsTransitive: an answer that agrees with the first one is refused all the same
// if it contradicts what was learnt since.
func TestIdentityIsTransitive(t *testing.T) {
	for _, test := range []struct {
		name    string
		learnt  []Claim
		refused Claim
	}{
		{"nothing, then two ETags", []Claim{c(10, "", ""), c(10, `"a"`, "")}, c(10, `"b"`, "")},
		{"an ETag, then two dates", []Claim{c(10, `"a"`, ""), c(10, "", "x")}, c(10, "", "y")},
		{"a date, then two ETags of one second", []Claim{c(10, "", "x"), c(10, `"a"`, "x")}, c(10, `"b"`, "x")},
		{"weak, then strong", []Claim{c(10, `W/"a"`, "x"), c(10, `"a"`, "x")}, c(10, `"b"`, "x")},
		{"size told late", []Claim{c(-1, "", ""), c(10, "", "")}, c(11, "", "")},
		{"a digest, then another one", []Claim{{SHA256: "d"}, {SHA512: "d"}}, Claim{SHA256: "e"}},
		{"two digests, the longer one told late", []Claim{{SHA256: "d"}, {SHA256: "d", SHA512: "d"}}, Claim{SHA256: "d", SHA512: "e"}},
		{"the longer digest, then none", []Claim{{SHA512: "d"}, {}}, Claim{SHA512: "e"}},
		{"an ETag, then none", []Claim{c(10, `"a"`, ""), c(10, "", "")}, c(10, `"b"`, "")},
		{"nothing, then a weak ETag", []Claim{c(10, "", ""), c(10, `W/"a"`, "")}, c(10, `W/"b"`, "")},
		{"from both of two answers", []Claim{c(10, `"a"`, ""), c(10, `"a"`, "x"), c(10, "", "x")}, c(10, "", "z")},
	} {
		var k Known
		for _, l := range test.learnt {
			if v, what := k.Judge(l); v == Differs {
				t.Fatalf("%s: %+v was refused: %s", test.name, l, what)
			}
			k.Learn(l)
		}
		if v, _ := k.Judge(test.refused); v != Differs {
			t.Errorf("%s: %+v was not refused", test.name, test.refused)
		}
	}
}

// TestDatesOfEqualETags: edges may tell several dates of one object, and then none of them
// proves anything, or refutes.
func TestDatesOfEqualETags(t *testing.T) {
	var k Known
	k.Learn(c(10, `"a"`, "x"))
	k.Learn(c(10, `"a"`, "y"))
	for _, date := range []string{"x", "y", "z"} {
		if v, _ := k.Judge(c(10, "", date)); v != Unproven {
			t.Errorf("%s: %v", date, v)
		}
	}
}

// TestAnEarlierRunNeedsAStrongValidator until something has been learnt in this one.
func TestAnEarlierRunNeedsAStrongValidator(t *testing.T) {
	for _, test := range []struct {
		journal, then Claim
		want          Verdict
	}{
		{c(10, `"a"`, "x"), c(10, `"a"`, "x"), Proven},
		{c(10, `"a"`, "x"), c(10, "", "x"), Unproven},
		{c(10, "", "x"), c(10, "", "x"), Unproven},
		{c(10, "", "x"), c(10, "", "y"), Differs},
		{c(10, `"a"`, "x"), c(10, `"b"`, "x"), Differs},
		{c(-1, "", ""), c(10, `"a"`, "x"), Unproven}, // the bytes of another tool
	} {
		k := Resumed(test.journal.Identity)
		if v, _ := k.Judge(test.then); v != test.want {
			t.Errorf("%+v, then %+v: %v, want %v", test.journal, test.then, v, test.want)
		}
		if k.Strong() == k.Blind() {
			t.Errorf("%+v: strong %v and blind %v", test.journal, k.Strong(), k.Blind())
		}
	}
	k := Resumed(c(10, "", "x").Identity)
	k.Learn(c(10, "", "x"))
	if v, _ := k.Judge(c(10, "", "x")); v != Proven {
		t.Errorf("within the run: %v", v)
	}
}

// TestAStrongETagStays where an answer shows it as a weak one: what promises equal bytes is
// worth more than what does not.
func TestAStrongETagStays(t *testing.T) {
	var k Known
	k.Learn(c(10, `"a"`, ""))
	k.Learn(c(10, `W/"a"`, ""))
	if v, _ := k.Judge(c(10, `"a"`, "")); v != Proven || !k.Strong() {
		t.Errorf("%v, strong %v", v, k.Strong())
	}
}

// TestStrong: a strong ETag or a digest of either kind promises equal bytes, nothing else does.
func TestStrong(t *testing.T) {
	for _, test := range []struct {
		learnt Claim
		want   bool
	}{
		{c(10, `"a"`, ""), true},
		{Claim{SHA256: "d"}, true},
		{Claim{SHA512: "d"}, true},
		{c(10, `W/"a"`, "x"), false},
		{c(10, "", "x"), false},
	} {
		var k Known
		if k.Strong() || k.Blind() {
			t.Error("there is something to know of nothing")
		}
		k.Learn(test.learnt)
		if k.Strong() != test.want {
			t.Errorf("%+v: strong %v", test.learnt, k.Strong())
		}
	}
}

// TestASizeStays: what an answer does not tell is not forgotten, of another tool's bytes either.
func TestASizeStays(t *testing.T) {
	for _, k := range []Known{{}, Resumed(Identity{Size: -1}), Resumed(Identity{Size: -1, ETag: `"a"`})} {
		k.Sized(10)
		k.Learn(c(-1, `"a"`, ""))
		if k.Size() != 10 {
			t.Errorf("size %d", k.Size())
		}
	}
}

// TestModified: HTTP's date (RFC 9110, 5.6.7) in its one preferred form, within what files can
// have: 32 bits of seconds before 1970, 64 bits of nanoseconds after.
func TestModified(t *testing.T) {
	for text, want := range map[string]int64{
		"Sun, 06 Nov 1994 08:49:37 GMT": 784111777, // the RFC's own example
		"Fri, 13 Dec 1901 20:45:52 GMT": -1 << 31,
		"Fri, 13 Dec 1901 20:45:51 GMT": -1,
		"Fri, 11 Apr 2262 23:47:16 GMT": 9223372036,
		"Fri, 11 Apr 2262 23:47:17 GMT": -1,
		"06 Nov 1994":                   -1,
		"":                              -1,
	} {
		at, known := Identity{LastModified: text}.Modified()
		if known != (want != -1) || known && at.Unix() != want || !known && !at.IsZero() {
			t.Errorf("%q: %v, %v", text, at, known)
		}
	}
}
