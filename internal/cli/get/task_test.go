package get

import (
	"net/url"
	"testing"

	"github.com/mlget/mlget/internal/cli/flags"
	"github.com/mlget/mlget/internal/engine"
)

// Only where all URLs are known and lead to this machine may the loopback link stand
// for auto: what a list or a server names later must not.
func TestHere(t *testing.T) {
	urls := func(texts ...string) (all []*url.URL) {
		for _, text := range texts {
			u, err := flags.ParseURL(text)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, u)
		}
		return all
	}
	for _, text := range []string{
		"http://localhost/x", "http://LOCALHOST.:80/", "https://127.0.0.1:8443/", "http://127.9.9.9/", "http://[::1]:80/", "http://[::ffff:127.0.0.1]/",
		"http://0.0.0.0:8000/", "http://[::]/", "http://[::ffff:0.0.0.0]/",
	} {
		if !(&task{urls: urls(text)}).here() || !(&task{one: &engine.Job{URL: urls(text)[0]}}).here() {
			t.Errorf("%s is elsewhere", text)
		}
	}
	for _, text := range []string{
		"http://localhost.example/", "http://notlocalhost/", "http://192.0.2.1/", "http://[2001:db8::1]/", "http://128.0.0.1/", "http://127.0.0.1.example/",
	} {
		if (&task{urls: urls("http://localhost/", text)}).here() {
			t.Errorf("%s is here", text)
		}
	}
	if (&task{urls: urls("http://localhost/"), list: new(list)}).here() {
		t.Error("a list is here that nobody has read")
	}
}
