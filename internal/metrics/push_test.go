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
		"http://h:9091":                            "http://h:9091/metrics/job/mlget/instance/phone%203",
		"http://h:9091/":                           "http://h:9091/metrics/job/mlget/instance/phone%203",
		"https://u:p@h/push":                       "https://h/push/metrics/job/mlget/instance/phone%203",
		"http://h/metrics/job/nightly/site/x?a#b":  "http://h/metrics/job/nightly/site/x",
		"http://h/metrics/job@base64/bmlnaHRseQ==": "http://h/metrics/job@base64/bmlnaHRseQ==",
		"ftp://h": "", "h:9091": "", "": "", "http://": "", "http://u:" + password + "@[bad": "",
	} {
		g, err := ParseGateway(in, "phone 3")
		if g.url != want || (want == "") != errors.Is(err, ErrPushURL) {
			t.Errorf("%q: %q, %v", in, g.url, err)
		}
		if err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%v", err)
		}
	}
	if g, _ := ParseGateway("http://h", ""); g.url != "http://h/metrics/job/mlget" {
		t.Errorf("without a name: %q", g.url)
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
		if err != nil || req.URL.User != nil || req.URL.Host == "" || !strings.Contains(req.URL.Path, "/metrics/job") {
			t.Fatalf("%q became %q: %v", text, g.url, err)
		}
	})
}

func TestPush(t *testing.T) {
	run := after(eventtest.TwoLinks())
	type seen struct{ method, path, user, password, kind, body string }
	var got []seen
	code, early := http.StatusOK, false
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
		_, _ = io.WriteString(w, "because\n")
	}))
	defer srv.Close()
	g, err := ParseGateway(strings.Replace(srv.URL, "//", "//alice:"+password+"@", 1), "pc")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Push(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	want := seen{"PUT", "/metrics/job/mlget/instance/pc", "alice", password, ContentType, string(run.Text())}
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
	srv.Close()
	if err := g.Push(t.Context(), run); err == nil || strings.Contains(err.Error(), password) {
		t.Errorf("nobody there: %v", err)
	}
}
