package aria2rpc

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlget/mlget/internal/daemon"
)

func server(t testing.TB, dir string, change func(*Config)) *Server {
	t.Helper()
	m := daemon.New(t.Context(), daemon.NewQueue(1000), nil, nil, idle{})
	t.Cleanup(func() { _ = m.Close() })
	cfg := Config{Manager: m, Dir: dir, UserAgent: "mlget", Mlget: "test", Allows: anyURL{}, Energy: battery{}}
	if change != nil {
		change(&cfg)
	}
	return New(cfg)
}

func serve(s *Server, method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:6800"
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

const getVersion = `{"jsonrpc":"2.0","id":1,"method":"aria2.getVersion"}`

// A page of any site can make a browser send requests here: scripts and images by GET, forms
// by POST, and with a name of its own that points to this machine (DNS rebinding).
func TestForeignPagesMayNotCall(t *testing.T) {
	s := server(t, t.TempDir(), func(c *Config) { c.Origins = []string{"https://ariang.example"} })
	for _, c := range []struct {
		name, method string
		header       []string
		want         int
	}{
		{"a program", "POST", nil, 200},
		{"our own page", "POST", []string{"Origin", "http://127.0.0.1:6800"}, 200},
		{"an allowed page", "POST", []string{"Origin", "https://ariang.example", "Sec-Fetch-Site", "cross-site"}, 200},
		{"its question beforehand", "OPTIONS", []string{"Origin", "https://ariang.example"}, 200},
		{"a foreign page", "POST", []string{"Origin", "https://evil.example"}, 403},
		{"a foreign page's question", "OPTIONS", []string{"Origin", "https://evil.example"}, 403},
		{"a page without an origin", "POST", []string{"Origin", "null"}, 403},
		{"a foreign page's script", "GET", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"an allowed page's script", "GET", []string{"Sec-Fetch-Site", "cross-site", "Referer", "https://ariang.example/page?x"}, 200},
		{"an allowed page's script, form", "POST", []string{"Sec-Fetch-Site", "cross-site", "Referer", "https://ariang.example/"}, 403},
		{"a script of a name that begins alike", "GET", []string{"Sec-Fetch-Site", "cross-site", "Referer", "https://ariang.example.evil.example/"}, 403},
		{"a script that tells no page", "GET", []string{"Sec-Fetch-Site", "same-site", "Referer", ":"}, 403},
		{"a name that was let point here", "POST", []string{"Host", "evil.example:6800"}, 403},
		{"the same with its origin", "POST", []string{"Host", "evil.example", "Origin", "http://evil.example"}, 403},
		{"localhost", "POST", []string{"Host", "localhost:6800"}, 200},
		{"IPv6", "POST", []string{"Host", "[::1]:6800"}, 200},
		{"another method", "PUT", nil, 405},
	} {
		if w := serve(s, c.method, "/jsonrpc?method=aria2.getVersion&id=1", getVersion, c.header...); w.Code != c.want {
			t.Errorf("%s: %d, want %d", c.name, w.Code, c.want)
		}
	}
	w := serve(s, "POST", "/jsonrpc", getVersion, "Origin", "https://ariang.example")
	if w.Header().Get("Access-Control-Allow-Origin") != "https://ariang.example" {
		t.Error(w.Header())
	}
	if w := serve(s, "POST", "/jsonrpc", strings.Repeat(" ", maxRequest+1)); w.Code != http.StatusRequestEntityTooLarge {
		t.Error("a request of more than 2 MiB:", w.Code)
	}
	if w := serve(s, "GET", "/jsonrpc?method=aria2.getVersion&id=1&jsoncallback=alert(1)//", ""); w.Code != http.StatusBadRequest {
		t.Error("a callback that is a script:", w.Code)
	}
	if w := serve(s, "GET", "/jsonrpc?method=aria2.getVersion&id=1&jsoncallback=cb", ""); !strings.HasPrefix(w.Body.String(), `cb({"id":"1"`) || w.Header().Get("Content-Type") != "text/javascript" {
		t.Error(w.Body, w.Header())
	}
	if w := serve(s, "POST", "/other", getVersion); w.Code != http.StatusNotFound {
		t.Error(w.Code)
	}
}

func TestFilesStayBelowDir(t *testing.T) {
	const isWindows = runtime.GOOS == "windows"
	base := t.TempDir()
	s := server(t, base, nil)
	for dir, ok := range map[string]bool{
		base: true, base + "/sub/x": true, "sub": true, "": true, base + "/../x": false, "/etc": false, "..": false, "a/../../b": false,
		base + "x": false, filepath.Dir(base): false,
		`\etc`: !isWindows, `C:x`: !isWindows, `..\x`: !isWindows,
	} {
		quoted, err := json.Marshal(dir)
		if err != nil {
			t.Fatal(err)
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"aria2.addUri","params":[["http://example.org/a"],{"pause":"true","dir":` + string(quoted) + `}]}`
		if w := serve(s, "POST", "/jsonrpc", body); (w.Code == 200) != ok {
			t.Errorf("dir %q: %s", dir, w.Body)
		}
		body = `{"jsonrpc":"2.0","id":1,"method":"aria2.changeGlobalOption","params":[{"dir":` + string(quoted) + `}]}`
		if w := serve(s, "POST", "/jsonrpc", body); (w.Code == 200) != ok {
			t.Errorf("dir %q for all: %s", dir, w.Body)
		}
	}
}

type noURL struct{}

func (noURL) Check(string) error { return errors.New("it is not allowed") }

func TestForbiddenURLsAreRefused(t *testing.T) {
	s := server(t, t.TempDir(), func(c *Config) { c.Allows = noURL{} })
	body := `{"jsonrpc":"2.0","id":1,"method":"aria2.addUri","params":[["http://joe:hunter2@127.0.0.1/a"]]}`
	if w := serve(s, "POST", "/jsonrpc", body); w.Code != 400 || strings.Contains(w.Body.String(), "hunter2") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}

// TestWrongSecretsEndSoon: wrong secrets are answered so many in a second, and a request is full of
// them. It ends all the same, and tries no more of them than another would.
func TestWrongSecretsEndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server(t, t.TempDir(), func(c *Config) { c.Secret = "s3cret" })
		begun := time.Now()
		wrong := `{"id":1,"method":"aria2.getSessionInfo","params":["token:x"]},`
		batch := "[" + strings.Repeat(wrong, 1000) + strings.Replace(wrong, "token:x", "token:s3cret", 1)
		if w := serve(s, "POST", "/jsonrpc", strings.TrimSuffix(batch, ",")+"]"); strings.Count(w.Body.String(), "Unauthorized") != 1001 {
			t.Errorf("the right secret behind a thousand wrong ones is taken: %.300s", w.Body)
		}
		inner := strings.ReplaceAll(strings.ReplaceAll(strings.TrimSuffix(batch[1:], ","), `"id":1,`, ""), `"method"`, `"methodName"`)
		if w := serve(s, "POST", "/jsonrpc", `{"id":1,"method":"system.multicall","params":[[`+inner+`]]}`); strings.Count(w.Body.String(), "Unauthorized") != 1001 {
			t.Errorf("the right secret behind a thousand wrong ones is taken: %.300s", w.Body)
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("two requests are answered after %v", took)
		}
	})
}

// TestAnswersAreBounded: a request of 2 MiB gets no answer that is many times as large.
func TestAnswersAreBounded(t *testing.T) {
	s := server(t, t.TempDir(), nil)
	call := `{"id":1,"method":"system.listMethods"},`
	for name, request := range map[string]string{
		"batch":     "[" + strings.Repeat(call, 49999) + strings.TrimSuffix(call, ",") + "]",
		"multicall": `{"id":1,"method":"system.multicall","params":[[` + strings.Repeat(`{"methodName":"system.listMethods"},`, 55000) + `{}]]}`,
		"no calls":  "[" + strings.Repeat("{},", 690000) + "{}]",
	} {
		if len(request) > maxRequest {
			t.Fatal(name, len(request))
		}
		w := serve(s, "POST", "/jsonrpc", request)
		if n := w.Body.Len(); n > 20<<20 || n == 0 {
			t.Errorf("%s: %d bytes", name, n)
		}
		if _, err := decode(w.Body.Bytes()); err != nil && w.Body.Len() < 4<<20 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if w := serve(s, "POST", "/jsonrpc", "["+strings.Repeat(call, 999)+strings.TrimSuffix(call, ",")+"]"); strings.Contains(w.Body.String(), `"error"`) {
		t.Errorf("a thousand calls are too many: %.300s", w.Body)
	}
}

func TestShutdownIsTold(t *testing.T) {
	s := server(t, t.TempDir(), nil)
	for range 2 {
		serve(s, "POST", "/jsonrpc", `{"jsonrpc":"2.0","id":1,"method":"aria2.shutdown"}`)
	}
	<-s.Stopped()
}

func FuzzRequest(f *testing.F) {
	for _, request := range transcript() {
		f.Add([]byte(request))
	}
	s := server(f, f.TempDir(), nil)
	f.Fuzz(func(t *testing.T, request []byte) {
		w := serve(s, "POST", "/jsonrpc", string(request))
		body, err := io.ReadAll(w.Body)
		if err != nil || len(body) == 0 || w.Code != 200 && w.Code != 400 && w.Code != 500 && w.Code != 429 {
			t.Errorf("%d %s", w.Code, body)
		}
		if _, err := decode(body); err != nil && w.Code != 429 {
			t.Errorf("no JSON: %s", body)
		}
	})
}

// battery is an energy meter.
type battery struct{}

func (battery) Energy() Energy {
	return Energy{Source: "battery", Joules: 12.25, Seconds: 60, Watts: 1.5}
}

func TestGetEnergy(t *testing.T) {
	for _, c := range []struct {
		e    Energy
		want string
	}{
		{battery{}.Energy(), `{"joules":"12.250","links":[],"seconds":"60.000","source":"battery","watts":"1.500"}`},
		{Energy{Source: "battery", IsExternal: true}, `{"joules":"0.000","links":[],"seconds":"0.000","source":"battery","unavailable":"on external power"}`},
		{
			Energy{Unavailable: "no source", Links: []LinkEnergy{{"wlan0", "wifi", 2.5}}},
			`{"joules":"0.000","links":[{"joules":"2.500","model":"wifi","name":"wlan0"}],"seconds":"0.000","unavailable":"no source"}`,
		},
	} {
		if got := string(encode(energy(c.e))); got != c.want {
			t.Errorf("%+v: %s, want %s", c.e, got, c.want)
		}
	}
}
