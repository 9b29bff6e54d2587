package accept

import (
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/identity"
)

// TestUnfit: an answer of many files is used where it is a range of an object that can be told apart
// from others, or all of a file that was asked for whole.
func TestUnfit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a    Answer
		want string // a word of the reason; "": it is used
		odd  bool
	}{
		"the first range":                      {Answer{Size: 900, End: 500, Fits: true}, "", false},
		"the whole of a small file":            {Answer{Size: 400, End: 500, Whole: true, Fits: true}, "", false},
		"an empty file":                        {Answer{End: 500, Whole: true, Blind: true, Fits: true}, "", false},
		"no size":                              {Answer{Size: -1, End: 500, Fits: true}, "size", true},
		"no room":                              {Answer{Size: 900, End: 500}, "large", false},
		"encoded":                              {Answer{Size: 900, End: 500, Fits: true, Encoded: true}, "encoded", false},
		"encoded, as before":                   {Answer{Size: 900, End: 500, Fits: true, Encoded: true, Sized: true, Verdict: identity.Proven}, "", false},
		"another ETag":                         {Answer{Size: 900, Off: 500, End: 900, Sized: true, Verdict: identity.Differs, What: "ETag"}, "ETag", false},
		"no validator in the second":           {Answer{Size: 900, Off: 500, End: 900, Sized: true, Verdict: identity.Unproven}, "nothing shows", false},
		"no validator in the first, of two":    {Answer{Size: 900, End: 500, Fits: true, Blind: true}, "nothing will show", false},
		"no validator in the only one":         {Answer{Size: 400, End: 500, Fits: true, Blind: true}, "", false},
		"no validator of what may be there":    {Answer{Size: 900, End: 1, Fits: true, Blind: true, MayExist: true}, "", false},
		"whole instead of what may be there":   {Answer{Size: 900, End: 1, Fits: true, Whole: true, MayExist: true}, "", false},
		"whole instead of the first range":     {Answer{Size: 900, End: 500, Fits: true, Whole: true}, "ranges", true},
		"whole instead of the second range":    {Answer{Size: 900, Off: 500, End: 900, Sized: true, Verdict: identity.Proven, Whole: true}, "ranges", true},
		"whole pages made twice":               {Answer{Size: 400, End: 500, Fits: true, Whole: true, Blind: true, Beside: true}, "told apart", false},
		"whole pages made twice, with an ETag": {Answer{Size: 400, End: 500, Fits: true, Whole: true, Beside: true}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			why, odd := c.a.Unfit()
			if !strings.Contains(why, c.want) || (why == "") != (c.want == "") || odd != c.odd {
				t.Errorf("%q, odd %v, want %q, %v", why, odd, c.want, c.odd)
			}
		})
	}
}
