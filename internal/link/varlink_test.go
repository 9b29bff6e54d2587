package link

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const goodReply = `{"parameters":{"addresses":[{"ifindex":3,"family":2,"address":[93,184,216,34]},` +
	`{"ifindex":3,"family":10,"address":[32,1,13,184,0,0,0,0,0,0,0,0,0,0,0,1]}],"name":"example.org","flags":1}}`

func TestParseVarlinkReply(t *testing.T) {
	for text, want := range map[string]string{
		goodReply: "[93.184.216.34 2001:db8::1] <nil>",
		`{"error":"io.systemd.Resolve.DNSError","parameters":{"rcode":3}}`:                            "not found",
		`{"error":"io.systemd.Resolve.NoSuchResourceRecord","parameters":{}}`:                         "not found",
		`{"parameters":{"addresses":[]}}`:                                                             "not found",
		`{"parameters":{"addresses":[{"family":2,"address":[1,2,3]}]}}`:                               "not found",
		`{"parameters":{"addresses":[{"family":2,"address":[1,2,3,256]}]}}`:                           "not found",
		`{"parameters":{"addresses":[{"family":2,"address":[1,2,3,-1]}]}}`:                            "not found",
		`{"parameters":{"addresses":[{"family":10,"address":[1,2,3,4]}]}}`:                            "not found",
		`{"error":"io.systemd.Resolve.DNSError","parameters":{"rcode":2}}`:                            "error",
		`{"error":"io.systemd.Resolve.NoNameServers","parameters":{}}`:                                "error",
		`{"parameters":{"addresses":[{"family":2,"address":"XbjYIg=="}]}}`:                            "error",
		`{"parameters":{"addresses":[{"family":2,"address":[` + strings.Repeat("1,", 1000) + `1]}]}}`: "not found",
		`[]`: "error", ``: "error", `{`: "error", `{"error":3}`: "error",
	} {
		addrs, err := parseVarlinkReply([]byte(text), "example.org")
		got := fmt.Sprint(addrs, " ", err)
		switch {
		case isNotFound(err):
			got = "not found"
		case err != nil:
			got = "error"
		}
		if got != want {
			t.Errorf("%.80s: %s (%v), want %s", text, got, err, want)
		}
	}
}

func FuzzParseVarlinkReply(f *testing.F) {
	f.Add([]byte(goodReply))
	f.Add([]byte(`{"error":"io.systemd.Resolve.DNSError","parameters":{"rcode":3}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		addrs, err := parseVarlinkReply(b, "example.org")
		if (err == nil) == (len(addrs) == 0) || len(addrs) > maxAddrs {
			t.Fatalf("%v, %v", addrs, err)
		}
		if slices.ContainsFunc(addrs, func(a netip.Addr) bool { return !a.IsValid() }) {
			t.Fatalf("%v", addrs)
		}
	})
}

// shortDir is a directory whose name leaves room for a socket's.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mlget")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestVarlinkLookup(t *testing.T) {
	socket := filepath.Join(shortDir(t), "socket")
	asked := serveVarlink(t, socket, goodReply+"\x00")
	addrs, err := varlinkLookup(t.Context(), socket, "example.org", 3, afAny)
	if want := "[93.184.216.34 2001:db8::1]"; err != nil || fmt.Sprint(addrs) != want {
		t.Errorf("got %v, %v, want %s", addrs, err, want)
	}
	const want = `{"method":"io.systemd.Resolve.ResolveHostname","parameters":{"name":"example.org","ifindex":3,"family":0}}` + "\x00"
	if got := <-asked; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
}

func TestVarlinkLookupFails(t *testing.T) {
	for name, reply := range map[string]string{
		"cut short": goodReply, "endless": strings.Repeat(" ", maxReply) + goodReply + "\x00", "empty": "\x00",
	} {
		socket := filepath.Join(shortDir(t), "socket")
		serveVarlink(t, socket, reply)
		if addrs, err := varlinkLookup(t.Context(), socket, "example.org", 3, afAny); err == nil || isNotFound(err) {
			t.Errorf("%s: %v, %v", name, addrs, err)
		}
	}
	if _, err := varlinkLookup(t.Context(), filepath.Join(shortDir(t), "none"), "example.org", 3, afAny); err == nil {
		t.Error("no socket: no error")
	}
}

func TestVarlinkLookupCancelled(t *testing.T) {
	socket := filepath.Join(shortDir(t), "socket")
	asked := serveVarlink(t, socket, "")
	cause := errors.New("had enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-asked
		cancel(cause)
	}()
	if _, err := varlinkLookup(ctx, socket, "example.org", 3, afAny); !errors.Is(err, cause) {
		t.Errorf("error %v, want %v", err, cause)
	}
}

// A link asks its sources in order; an answer ends it, a failure does not.
func TestLookupOrder(t *testing.T) {
	dir := shortDir(t)
	failing, good, missing := filepath.Join(dir, "failing"), filepath.Join(dir, "good"), filepath.Join(dir, "missing")
	serveVarlink(t, failing, `{"error":"io.systemd.Resolve.NoNameServers","parameters":{}}`+"\x00")
	serveVarlink(t, good, goodReply+"\x00")
	serveVarlink(t, missing, `{"error":"io.systemd.Resolve.DNSError","parameters":{"rcode":3}}`+"\x00")
	over := func(sockets ...string) *Link {
		i := Info{Name: "wlan0", Bind: BindDevice}
		for _, s := range sockets {
			i.Resolvers = append(i.Resolvers, Resolver{Method: ResolverResolved, Socket: s})
		}
		return New(i, Spec{}, Options{ConnectTimeout: 20 * time.Second})
	}
	const host = "mlget-test.invalid"
	if addrs, err := over(failing, good).lookup(t.Context(), host, FamilyAny); err != nil || len(addrs) != 2 {
		t.Errorf("second source: %v, %v", addrs, err)
	}
	if addrs, err := over(missing, good).lookup(t.Context(), host, FamilyAny); !isNotFound(err) {
		t.Errorf("a name that does not exist: %v, %v", addrs, err)
	}
	_, err := over(failing).lookup(t.Context(), host, FamilyAny)
	if err == nil || isNotFound(err) || !strings.Contains(err.Error(), "link wlan0: ") {
		t.Errorf("no source answers: %v", err)
	}
	// No name server: that stays so, and asking again does not help.
	if _, err := over().lookup(t.Context(), host, FamilyAny); !isNotFound(err) || !strings.Contains(err.Error(), errNoServer.Error()) {
		t.Errorf("no sources: %v", err)
	}
	for host, want := range map[string]string{"192.0.2.1": "[192.0.2.1]", "2001:db8::1": "[2001:db8::1]", "localhost": "127.0.0.1"} {
		if addrs, err := over().lookup(t.Context(), host, FamilyAny); err != nil || !strings.Contains(fmt.Sprint(addrs), want) {
			t.Errorf("%s: %v, %v", host, addrs, err)
		}
	}
}
