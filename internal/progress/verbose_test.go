package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/pkg/scheduler"
)

// TestVerbose: -v says once for each link and address where it is connected to, and of a
// single file where redirects led, without the query, and the protocol.
func TestVerbose(t *testing.T) {
	opened := func(link int, remote string) event.Event {
		return event.ConnOpened{Link: scheduler.LinkID(link), Remote: remote, RTT: 16_240 * time.Microsecond}
	}
	run := func(files int) []event.Event {
		return []event.Event{
			event.RunStarted{Files: files, Links: []event.LinkInfo{{Name: "wlan0"}}},
			event.FileStarted{URL: "http://a.example/f"},
			opened(0, "192.0.2.1:80"), opened(0, "192.0.2.1:80"), opened(1, "192.0.2.1:80"),
			event.LinkJoined{Link: 1, Info: event.LinkInfo{Name: "rmnet0"}},
			opened(1, "192.0.2.1:80"), opened(0, "192.0.2.2:443"),
			event.ObjectKnown{EffectiveURL: "https://b.example/g?key=secret", HTTP: "2"},
			event.RunEnded{},
		}
	}
	const links = "mlget: link wlan0: connected to 192.0.2.1:80 in 16.2 ms\n" +
		"mlget: link rmnet0: connected to 192.0.2.1:80 in 16.2 ms\n" +
		"mlget: link wlan0: connected to 192.0.2.2:443 in 16.2 ms\n"
	if got, want := show(run(1), Config{Mode: ModeNone, Verbose: true}),
		links+"mlget: redirected to https://b.example/g\nmlget: the server speaks HTTP/2\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := show(run(2), Config{Mode: ModeNone, Verbose: true}); got != links {
		t.Errorf("of several files: %s", got)
	}
	if got := show(run(1), Config{Mode: ModeNone}); got != "" {
		t.Errorf("without -v: %s", got)
	}
	same := run(1)
	same[8] = event.ObjectKnown{EffectiveURL: "http://a.example/f", HTTP: "1.1"}
	if got := show(same, Config{Mode: ModeNone, Verbose: true}); strings.Contains(got, "redirected") {
		t.Errorf("without a redirect: %s", got)
	}
}
