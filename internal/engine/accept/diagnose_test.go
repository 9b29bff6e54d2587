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
		f    Failure
		want Cause
	}{
		"404":                              {Failure{Err: answered(fetch.Status, http.StatusNotFound)}, FileDenied},
		"401":                              {Failure{Err: answered(fetch.Auth, http.StatusUnauthorized)}, FileDenied},
		"503, nothing else is asked for":   {Failure{Err: busy}, ServerBusy},
		"503 while others are served":      {Failure{Err: busy, Others: 2}, TooManyRequests},
		"the same, far too often":          {Failure{Err: busy, Others: 2, Overloads: 1000}, ServerBusy},
		"the same with one try":            {Failure{Err: busy, Others: 2, OneTry: true}, ServerBusy},
		"500 where these are counted":      {Failure{Err: failed, CountsFailures: true}, ServerFailed},
		"500 of a file that has begun":     {Failure{Err: failed, CountsFailures: true, Sized: true, Ranges: RangesServed}, ServerBusy},
		"503, counted, others are asked":   {Failure{Err: busy, CountsFailures: true, Others: 1}, TooManyRequests},
		"500, counted, others are asked":   {Failure{Err: failed, CountsFailures: true, Others: 1}, ServerFailed},
		"403":                              {Failure{Err: forbidden}, FileDenied},
		"403 while others may be too many": {Failure{Err: forbidden, MayBound: true}, MaybeTooMany},
		"403 of what was served before":    {Failure{Err: forbidden, Bounds: true, MayBound: true}, TooManyRequests},
		"403 of it, with one try":          {Failure{Err: forbidden, Bounds: true, MayBound: true, OneTry: true}, FileDenied},
		"404 does not depend on others":    {Failure{Err: answered(fetch.Status, 404), Bounds: true, MayBound: true}, FileDenied},
		"a second connection breaks":       {Failure{Err: broke, Spare: true}, TooManyConns},
		"it does, with one try":            {Failure{Err: broke, Spare: true, OneTry: true}, LinkFailed},
		"nothing comes over the link":      {Failure{Err: broke}, LinkFailed},
		"only the server is silent":        {Failure{Err: broke, LinkWorks: true}, ServerSilent},
		"the server served another file":   {Failure{Err: broke, LinkWorks: true, ServerWorks: true}, FileBroke},
		"the body breaks off":              {Failure{Err: broke, LinkWorks: true, ResponseCame: true}, FileBroke},
		"it served over another link":      {Failure{Err: broke, ServerWorks: true}, LinkFailed},
		"a body stalls":                    {Failure{Err: stalled, LinkWorks: true, ServerWorks: true, ResponseCame: true}, FileBroke},
		"all of a link stalls":             {Failure{Err: stalled}, LinkFailed},
		"connection refused":               {Failure{Err: answered(fetch.Refused, 0)}, ServerSilent},
		"refused over this link":           {Failure{Err: answered(fetch.Refused, 0), Elsewhere: true}, ServerElsewhere},
		"refused, it answered elsewhere":   {Failure{Err: answered(fetch.Refused, 0), ServerWorks: true}, LinkFailed},
		"a portal's certificate":           {Failure{Err: answered(fetch.TLS, 0), Elsewhere: true}, ServerElsewhere},
		"a wrong certificate":              {Failure{Err: answered(fetch.TLS, 0)}, ServerSilent},
		"an unknown name":                  {Failure{Err: answered(fetch.DNS, 0), Unresolved: true}, NameUnresolved},
		"a name that was known before":     {Failure{Err: answered(fetch.DNS, 0)}, LinkFailed},
		"broken HTTP":                      {Failure{Err: answered(fetch.Protocol, 0)}, FileOdd},
		"an unexpected status":             {Failure{Err: answered(fetch.Protocol, 302)}, FileDenied},
		"501 for a range, none was served": {Failure{Err: answered(fetch.Status, http.StatusNotImplemented), Sized: true}, FileWithoutRanges},
		"501, ranges were served":          {Failure{Err: answered(fetch.Status, http.StatusNotImplemented), Sized: true, Ranges: RangesServed}, FileDenied},
		"it ends, ranges were served":      {Failure{Err: &fetch.Error{Class: fetch.Network, Err: errors.New("EOF")}, Sized: true, Ranges: RangesServed}, LinkFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Diagnose(&c.f); got != c.want {
				t.Errorf("cause %d, want %d", got, c.want)
			}
		})
	}
}
