package aria2rpc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/mlget/mlget/internal/daemon"
)

// quick downloads nothing, and says so at once: that it is complete, or of "/bad" that it is not.
type quick struct{ idle }

func (quick) Download(ctx context.Context, job daemon.Job, p *daemon.Progress) daemon.Outcome {
	switch {
	case strings.HasSuffix(job.URIs[0], "/bad"):
		return daemon.Outcome{Code: 3}
	case strings.HasSuffix(job.URIs[0], "/long"):
		return idle{}.Download(ctx, job, p)
	}
	return daemon.Outcome{Path: "/a", Size: 1}
}

type message struct {
	ID     any
	Method string
	Params []struct{ GID string }
	Result any
	Error  *struct{ Message string }
}

// TestWebSocketsLeaveRoom: clients that open WebSockets and say nothing hold up no others.
func TestWebSocketsLeaveRoom(t *testing.T) {
	m := daemon.New(t.Context(), daemon.NewQueue(1000), nil, nil, quick{})
	t.Cleanup(func() { _ = m.Close() })
	s := httptest.NewServer(New(Config{Manager: m, Dir: t.TempDir(), Allows: anyURL{}, Energy: battery{}}))
	t.Cleanup(s.Close)
	var last error
	all := make([]*websocket.Conn, 0, maxSockets)
	for range maxSockets + 1 {
		var c *websocket.Conn
		if c, _, last = websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/jsonrpc", nil); last == nil { //nolint:bodyclose // it has none
			all = append(all, c)
		}
	}
	if len(all) != maxSockets || last == nil || !strings.Contains(last.Error(), "503") {
		t.Errorf("%d WebSockets, then %v", len(all), last)
	}
	for _, c := range all {
		_ = c.CloseNow()
	}
}

func open(t *testing.T, header http.Header) (*daemon.Manager, *websocket.Conn, error) {
	t.Helper()
	m := daemon.New(t.Context(), daemon.NewQueue(1000), nil, nil, quick{})
	t.Cleanup(func() { _ = m.Close() })
	s := httptest.NewServer(New(Config{Manager: m, Secret: "x", Dir: t.TempDir(), Allows: anyURL{}, Energy: battery{}}))
	t.Cleanup(s.Close)
	c, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/jsonrpc", &websocket.DialOptions{HTTPHeader: header}) //nolint:bodyclose // it has none
	if err == nil {
		t.Cleanup(func() { _ = c.CloseNow() })
	}
	return m, c, err
}

func TestWebSocketNotifies(t *testing.T) {
	_, c, err := open(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var told []string
	answers := map[any]message{}
	ask := func(request string) message {
		t.Helper()
		if err := c.Write(ctx, websocket.MessageText, []byte(request)); err != nil {
			t.Fatal(err)
		}
		for {
			if a, ok := answers["q"]; ok {
				delete(answers, "q")
				return a
			}
			var m message
			if err := wsjson.Read(ctx, c, &m); err != nil {
				t.Fatal(err)
			}
			if m.Method == "" {
				answers[m.ID] = m
				continue
			}
			told = append(told, strings.TrimPrefix(m.Method, "aria2.on")+" "+m.Params[0].GID[15:])
		}
	}
	add := func(name, gid string) {
		t.Helper()
		if a := ask(call("aria2.addUri", `["http://example.org/`+name+`"]`, `{"gid":"000000000000000`+gid+`"}`)); a.Error != nil {
			t.Fatal(a.Error)
		}
	}
	wait := func(what string) {
		t.Helper()
		for !slices.Contains(told, what) {
			if a := ask(call("aria2.getVersion")); a.Error != nil {
				t.Fatalf("%s; so far %v", a.Error.Message, told)
			}
		}
	}
	add("a", "1")
	wait("DownloadComplete 1")
	add("bad", "2")
	wait("DownloadError 2")
	add("long", "3")
	wait("DownloadStart 3")
	ask(call("aria2.pause", `"0000000000000003"`))
	wait("DownloadPause 3")
	ask(call("aria2.unpause", `"0000000000000003"`))
	ask(call("aria2.remove", `"0000000000000003"`))
	wait("DownloadStop 3")
	for i, want := range []string{"DownloadStart 1", "DownloadComplete 1", "DownloadStart 2", "DownloadError 2", "DownloadStart 3", "DownloadPause 3"} {
		if told[i] != want {
			t.Errorf("notification %d is %s, want %s", i, told[i], want)
		}
	}
	if a := ask(`{"jsonrpc":"2.0","id":"q","method":"aria2.getVersion"}`); a.Error == nil || a.Error.Message != "Unauthorized" {
		t.Errorf("without the secret: %+v", a)
	}
	ask(call("aria2.shutdown"))
	for {
		if _, _, err := c.Read(ctx); err != nil {
			if websocket.CloseStatus(err) != websocket.StatusGoingAway {
				t.Errorf("the server goes with %v", err)
			}
			return
		}
	}
}

func TestForeignPageOpensNoWebSocket(t *testing.T) {
	if _, _, err := open(t, http.Header{"Origin": {"https://evil.example"}}); err == nil {
		t.Error("a foreign page has opened a WebSocket")
	}
}

// TestDeafClientHoldsNobodyUp: one that reads nothing loses its notifications, and the others
// go on.
func TestDeafClientHoldsNobodyUp(t *testing.T) {
	m, _, err := open(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	notices := m.Subscribe()
	for range 5000 {
		if _, err := m.Add(0, []string{"http://example.org/a"}, daemon.Options{"pause": "true"}, -1); err != nil {
			t.Fatal(err)
		}
	}
	m.UnpauseAll()
	for m.Totals().Ended < 5000 {
		time.Sleep(10 * time.Millisecond)
	}
	n := 0
	for range notices { // it ends
		n++
	}
	if n == 0 || n > 5000 {
		t.Errorf("%d notices", n)
	}
}
