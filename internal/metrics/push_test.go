package metrics

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/event/eventtest"
)

const password = "hunter2-never-shown"

func TestParseGateway(t *testing.T) {
	for in, want := range map[string]string{
		"http://h:9091":                             "http://h:9091 job mlget instance phone 3",
		"http://h:9091/":                            "http://h:9091/ job mlget instance phone 3",
		"https://u:p@h/push":                        "https://h/push job mlget instance phone 3",
		"http://[fe80::1%25wlan0]:9091":             "http://[fe80::1%25wlan0]:9091 job mlget instance phone 3",
		"http://h/metrics/job/nightly/site/x?a#b":   "http://h job nightly site x",
		"http://h/a%2fb/metrics/job/a%20b%2fc/":     "http://h/a%2fb job a b/c",
		"http://h/metrics/job@base64/bmlnaHRseQ==":  "http://h job nightly",
		"http://h/metrics/job/a/path@base64/L3Zhcg": "http://h job a path /var",
		"http://h/metrics/job/a/empty@base64/=":     "http://h job a empty ",
		"http://h/metrics/job":                      "", "http://h/metrics/job/": "", "http://h/metrics/job/a/b": "", "http://h/metrics/jobs/a": "",
		"http://h/metrics/job@base64/!": "",
		"ftp://h":                       "", "h:9091": "", "": "", "http://": "", "http://u:" + password + "@[bad": "",
	} {
		g, err := ParseGateway(in, "phone 3")
		got := g.url
		for _, l := range g.labels {
			got += " " + l[0] + " " + l[1]
		}
		if got != want || (want == "") != errors.Is(err, ErrPushURL) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
		if err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%v", err)
		}
	}
	if g, _ := ParseGateway("http://h", ""); len(g.labels) != 1 {
		t.Errorf("without a name: %q", g.labels)
	}
}

func FuzzParseGateway(f *testing.F) {
	f.Add("http://u:p@h:9091/metrics/job/a", "host")
	f.Add("https://[::1]/%2f/..", "a/b")
	f.Fuzz(func(t *testing.T, text, instance string) {
		g, err := ParseGateway(text, instance)
		if err != nil {
			return
		}
		req, err := http.NewRequest(http.MethodPut, g.url, nil)
		if err != nil || req.URL.User != nil || req.URL.Host == "" || g.labels[0][0] != "job" || g.labels[0][1] == "" {
			t.Fatalf("%q became %+v: %v", text, g, err)
		}
	})
}

func TestPush(t *testing.T) {
	run := after(eventtest.TwoLinks())
	type seen struct{ method, path, user, password, kind, body string }
	var got []seen
	code, early, reason := http.StatusOK, false, "because\n"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, pass, _ := r.BasicAuth()
		body, _ := io.ReadAll(r.Body)
		got = append(got, seen{r.Method, r.URL.Path, user, pass, r.Header.Get("Content-Type"), string(body)})
		if early {
			w.WriteHeader(http.StatusContinue)
			w.WriteHeader(http.StatusEarlyHints)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, reason)
	}))
	defer srv.Close()
	g, err := ParseGateway(strings.Replace(srv.URL, "//", "//alice:"+password+"@", 1), "my pc+")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Push(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	want := seen{"PUT", "/metrics/job/mlget/instance/my pc+", "alice", password, "text/plain; version=0.0.4; charset=utf-8", string(page(t, run, ""))}
	if len(got) != 1 || got[0] != want {
		t.Fatalf("%+v", got)
	}
	early = true
	if err := g.Push(t.Context(), run); err != nil {
		t.Errorf("a 100 and a 103 before the answer: %v", err)
	}
	for _, code = range []int{400, 302, 500} {
		got = nil
		err := g.Push(t.Context(), run)
		if err == nil || len(got) != 1 || strings.Contains(err.Error(), password) || !strings.Contains(err.Error(), "because") {
			t.Errorf("%d: %v, %d requests", code, err, len(got))
		}
	}
	code, reason = 500, strings.Repeat("a", 1<<20)
	if err := g.Push(t.Context(), run); err == nil || len(err.Error()) > 1000 {
		t.Errorf("a long reason: %d bytes of error", len(err.Error()))
	}
	srv.Close()
	if err := g.Push(t.Context(), run); err == nil || strings.Contains(err.Error(), password) {
		t.Errorf("nobody there: %v", err)
	}
}
