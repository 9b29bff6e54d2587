package accept

import (
	"errors"
	"net/http"
	"testing"

	"github.com/mlget/mlget/internal/fetch"
)

// TestDiagnose holds the diagnosis against what a person would say of each case.
func TestDiagnose(t *testing.T) {
	t.Parallel()
	answered := func(class fetch.Class, status int) error {
		return &fetch.Error{Class: class, Status: status}
	}
	busy, failed, forbidden := answered(fetch.Busy, 503), answered(fetch.Busy, 500), answered(fetch.Status, 403)
	broke := answered(fetch.Network, 0)
	stalled := &fetch.Error{Class: fetch.Canceled, Err: fetch.ErrStalled}
	for name, c := range map[string]struct {
		f     Failure
		want  Cause
		blame Blame
	}{
		"404":                              {Failure{Err: answered(fetch.Status, http.StatusNotFound)}, FileDenied, File},
		"401":                              {Failure{Err: answered(fetch.Auth, http.StatusUnauthorized)}, FileDenied, File},
		"503, nothing else is asked for":   {Failure{Err: busy}, ServerBusy, Server},
		"503 while others are served":      {Failure{Err: busy, Others: 2}, TooManyRequests, Server},
		"the same, far too often":          {Failure{Err: busy, Others: 2, Overloads: 1000}, ServerBusy, Server},
		"the same with one try":            {Failure{Err: busy, Others: 2, OneTry: true}, ServerBusy, Server},
		"500 where these are counted":      {Failure{Err: failed, CountsFailures: true}, ServerFailed, Server},
		"500 of a file that has begun":     {Failure{Err: failed, CountsFailures: true, Sized: true, Ranges: RangesServed}, ServerBusy, Server},
		"503, counted, others are asked":   {Failure{Err: busy, CountsFailures: true, Others: 1}, TooManyRequests, Server},
		"500, counted, others are asked":   {Failure{Err: failed, CountsFailures: true, Others: 1}, ServerFailed, Server},
		"403":                              {Failure{Err: forbidden}, FileDenied, File},
		"403 while others may be too many": {Failure{Err: forbidden, MayBound: true}, MaybeTooMany, Server},
		"403 of what was served before":    {Failure{Err: forbidden, Bounds: true, MayBound: true}, TooManyRequests, Server},
		"403 of it, with one try":          {Failure{Err: forbidden, Bounds: true, MayBound: true, OneTry: true}, FileDenied, File},
		"404 does not depend on others":    {Failure{Err: answered(fetch.Status, 404), Bounds: true, MayBound: true}, FileDenied, File},
		"a second connection breaks":       {Failure{Err: broke, Spare: true}, TooManyConns, Server},
		"it does, with one try":            {Failure{Err: broke, Spare: true, OneTry: true}, LinkFailed, Link},
		"nothing comes over the link":      {Failure{Err: broke}, LinkFailed, Link},
		"only the server is silent":        {Failure{Err: broke, LinkWorks: true}, ServerSilent, Server},
		"the server served another file":   {Failure{Err: broke, LinkWorks: true, ServerWorks: true}, FileBroke, File},
		"the body breaks off":              {Failure{Err: broke, LinkWorks: true, ResponseCame: true}, FileBroke, File},
		"it served over another link":      {Failure{Err: broke, ServerWorks: true}, LinkFailed, Link},
		"a body stalls":                    {Failure{Err: stalled, LinkWorks: true, ServerWorks: true, ResponseCame: true}, FileBroke, File},
		"all of a link stalls":             {Failure{Err: stalled}, LinkFailed, Link},
		"connection refused":               {Failure{Err: answered(fetch.Refused, 0)}, ServerSilent, Server},
		"refused over this link":           {Failure{Err: answered(fetch.Refused, 0), Elsewhere: true}, ServerElsewhere, Server},
		"refused, it answered elsewhere":   {Failure{Err: answered(fetch.Refused, 0), ServerWorks: true}, LinkFailed, Link},
		"a portal's certificate":           {Failure{Err: answered(fetch.TLS, 0), Elsewhere: true}, ServerElsewhere, Server},
		"a wrong certificate":              {Failure{Err: answered(fetch.TLS, 0)}, ServerSilent, Server},
		"an unknown name":                  {Failure{Err: answered(fetch.DNS, 0), Unresolved: true}, NameUnresolved, Server},
		"a name that was known before":     {Failure{Err: answered(fetch.DNS, 0)}, LinkFailed, Link},
		"broken HTTP":                      {Failure{Err: answered(fetch.Protocol, 0)}, FileOdd, File},
		"an unexpected status":             {Failure{Err: answered(fetch.Protocol, 302)}, FileDenied, File},
		"501 for a range, none was served": {Failure{Err: answered(fetch.Status, http.StatusNotImplemented), Sized: true}, FileWithoutRanges, File},
		"501, ranges were served":          {Failure{Err: answered(fetch.Status, http.StatusNotImplemented), Sized: true, Ranges: RangesServed}, FileDenied, File},
		"it ends, ranges were served":      {Failure{Err: &fetch.Error{Class: fetch.Network, Err: errors.New("EOF")}, Sized: true, Ranges: RangesServed}, LinkFailed, Link},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Diagnose(&c.f); got != c.want || got.Blame() != c.blame {
				t.Errorf("cause %d, blame %d, want %d and %d", got, got.Blame(), c.want, c.blame)
			}
		})
	}
}
