package main_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/event"
	"github.com/mlget/mlget/internal/linklab"
	"github.com/mlget/mlget/internal/report"
)

// ip changes the client's interfaces.
func (l *lab) ip(t testing.TB, args string) {
	t.Helper()
	if out, err := l.Command(t.Context(), "ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", args, err, out)
	}
}

// needIP skips where interfaces cannot be changed by hand.
func needIP(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip(err)
	}
}

// endJoined waits for the end and demands the body, over these links.
func (l *lab) endJoined(t testing.TB, r *running, links ...string) report.Report {
	t.Helper()
	r.end(t).want(t, 0)
	l.wantBody(t)
	rep := readReport(t, filepath.Join(l.dir, "report.json"))
	var names []string
	for _, k := range rep.Links {
		names = append(names, k.Name)
		if k.Bytes == 0 || k.State != "used" || k.Connections == 0 || k.Bind != "device" {
			t.Errorf("%+v", k)
		}
	}
	if strings.Join(names, " ") != strings.Join(links, " ") {
		t.Errorf("the report has the links %v, want %v", names, links)
	}
	return rep
}

// joins counts the lines that say that a link has joined.
func (r *running) joins(name string) int {
	return len(regexp.MustCompile(`(?m)^mlget: link `+name+` has joined$`).FindAllString(r.stderr.String(), -1))
}

// TestWiFiComesIntoRange: a link that was not there joins, named or not.
func TestWiFiComesIntoRange(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"wlan0,rmnet0"},
		{"auto"},
		{"rmnet0,wlan0", "--link", "wlan0,rate=3M,dns=192.0.2.53"},
		{"wlan0,rmnet0", "--http2-prior-knowledge"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			l := startLab(t, linklab.Config{Size: 20e6}, slowWiFi, thinLTE)
			happen(t, l, "wlan0 gone")
			r := l.startOver(t, args[0], args[1:]...)
			l.waitFor(t, 1e6)
			happen(t, l, "wlan0 back")
			l.waitForFirst(t)
			rep := l.endJoined(t, r, "rmnet0", "wlan0")
			if n := r.joins("wlan0"); n != 1 {
				t.Errorf("%d lines say that wlan0 joins:\n%s", n, r.stderr.String())
			}
			if a := rep.Links[1].LocalAddr; !strings.HasPrefix(a, "10.1.0.3:") {
				t.Errorf("wlan0 has the address %s", a)
			}
			var joined []event.LinkJoined
			for _, e := range l.events(t) {
				if e, ok := e.(event.LinkJoined); ok {
					joined = append(joined, e)
				}
			}
			if len(joined) != 1 || joined[0].Link != 1 || joined[0].Info.Name != "wlan0" || joined[0].At <= 0 {
				t.Errorf("the record has %+v", joined)
			}
		})
	}
}

// TestNotNamedNeverUsed: what nobody asked for carries nothing, however it comes.
func TestNotNamedNeverUsed(t *testing.T) {
	t.Parallel()
	needIP(t)
	t.Run("a real link, others named", func(t *testing.T) {
		l := startLab(t, linklab.Config{Size: 20e6}, slowWiFi, slowLTE)
		happen(t, l, "wlan0 gone")
		r := l.startOver(t, "rmnet0,usb9")
		l.waitFor(t, 4e6)
		happen(t, l, "wlan0 back")
		l.endJoined(t, r, "rmnet0")
		if up := l.Stats()[0].Up; up.Packets+up.SourceDrops != 0 {
			t.Errorf("over wlan0 went %+v", up)
		}
	})
	t.Run("a bridge and a container's, auto", func(t *testing.T) {
		l := startLab(t, linklab.Config{Size: 20e6}, slowWiFi, slowLTE)
		r := l.startOver(t, "auto")
		l.waitFor(t, 4e6)
		for _, k := range []struct{ name, kind, addr, metric string }{
			{"br0", "bridge", "10.77.1.2/24", "50"}, {"inside0", "veth peer name inside1", "10.77.2.2/24", "51"},
		} {
			l.ip(t, "link add "+k.name+" type "+k.kind)
			l.ip(t, "addr add "+k.addr+" dev "+k.name)
			l.ip(t, "link set "+k.name+" up")
			l.ip(t, "route add default dev "+k.name+" metric "+k.metric)
		}
		l.endJoined(t, r, "wlan0") // rmnet0 may cost money
		if strings.Contains(r.stderr.String(), "joins") {
			t.Error(r.stderr.String())
		}
	})
}

// TestLinkComesStepByStep: as a network manager sets it up. Without carrier, then
// without address, then without route it is no link of the run yet.
func TestLinkComesStepByStep(t *testing.T) {
	t.Parallel()
	needIP(t)
	l := startLab(t, linklab.Config{Size: 20e6}, slowWiFi, thinLTE)
	happen(t, l, "wlan0 carrier off")
	l.ip(t, "addr flush dev wlan0")
	l.ip(t, "-6 route flush dev wlan0")
	r := l.startOver(t, "auto")
	l.waitFor(t, 1e6)
	happen(t, l, "wlan0 carrier on")
	l.waitFor(t, 1e6)
	l.ip(t, "addr add 10.1.0.2/24 dev wlan0")
	l.waitFor(t, 1e6)
	if up := l.Stats()[0].Up; up.Packets+up.SourceDrops != 0 {
		t.Errorf("before there was a route, over wlan0 went %+v", up)
	}
	l.ip(t, "route add default via 10.1.0.1 dev wlan0 metric 100")
	l.waitForFirst(t)
	l.endJoined(t, r, "rmnet0", "wlan0")
	if n := r.joins("wlan0"); n != 1 {
		t.Errorf("%d lines say that wlan0 joins:\n%s", n, r.stderr.String())
	}
}

// TestReplugged: a modem that was pulled out and put in again has another index
// and another address, and goes on, also if it is the only link.
func TestReplugged(t *testing.T) {
	t.Parallel()
	for _, links := range []string{"wlan0,rmnet0", "wlan0"} {
		t.Run(links, func(t *testing.T) {
			l := startLab(t, linklab.Config{Size: 20e6}, slowWiFi, thinLTE)
			r := l.startOver(t, links)
			l.waitFor(t, 4e6)
			happen(t, l, "wlan0 gone")
			time.Sleep(300 * time.Millisecond)
			happen(t, l, "wlan0 back")
			l.waitForFirst(t)
			rep := l.endJoined(t, r, strings.Split(links, ",")...)
			if k := rep.Links[0]; !strings.HasPrefix(k.LocalAddr, "10.1.0.3:") {
				t.Errorf("%+v", k)
			}
			if r.joins("wlan0") != 0 {
				t.Errorf("it was there before:\n%s", r.stderr.String())
			}
		})
	}
}

// TestLostAndReplugged: also a link that was given up comes back.
func TestLostAndReplugged(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 20e6}, slowWiFi, thinLTE)
	r := l.start(t, "--tries", "1")
	l.waitFor(t, 4e6)
	happen(t, l, "wlan0 gone")
	waitUntil(t, "the loss of wlan0", func() bool {
		for _, e := range l.events(t) {
			if c, ok := e.(event.LinkChanged); ok && c.Link == 0 && c.State == event.LinkLost {
				return true
			}
		}
		return false
	})
	happen(t, l, "wlan0 back")
	l.waitForFirst(t)
	l.endJoined(t, r, "wlan0", "rmnet0")
	if !regexp.MustCompile(`(?m)^mlget: wlan0: it is back$`).MatchString(r.stderr.String()) {
		t.Errorf("nothing says so:\n%s", r.stderr.String())
	}
}

// TestFlapping: an interface that comes and goes costs little, and nothing of the
// body.
func TestFlapping(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 30e6}, slowWiFi, thinLTE)
	r := l.start(t)
	l.waitFor(t, 4e6)
	for range 12 {
		happen(t, l, "wlan0 gone")
		time.Sleep(60 * time.Millisecond)
		happen(t, l, "wlan0 back")
		time.Sleep(60 * time.Millisecond)
	}
	l.waitForFirst(t)
	rep := l.endJoined(t, r, "wlan0", "rmnet0")
	if n := rep.Links[0].Requests; n > 200 {
		t.Errorf("%d requests over the flapping link", n)
	}
}

// TestNobodyAtTheStart: what may come later is no link.
func TestNobodyAtTheStart(t *testing.T) {
	t.Parallel()
	l := startLab(t, linklab.Config{Size: 1e6}, slowWiFi)
	happen(t, l, "wlan0 gone")
	l.mlget(t, "-o", "out.bin", l.URL()).want(t, 45, `^mlget: .*wlan0.*no such interface`)
}
