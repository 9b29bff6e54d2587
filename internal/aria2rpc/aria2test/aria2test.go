// Package aria2test runs the real aria2c for tests, and compares what it answers with what others do.
package aria2test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// Start starts the real aria2c, with the secret x, below dir until the test ends; where there is none,
// the test is skipped. It gives the address to which /jsonrpc belongs.
func Start(t testing.TB, dir string) string {
	t.Helper()
	name, err := exec.LookPath("aria2c")
	if err != nil {
		t.Skip("there is no aria2c here")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	cmd := exec.CommandContext(t.Context(), name, "--no-conf", "--enable-rpc", "--rpc-listen-port="+port, "--rpc-secret=x", "--dir="+dir, "--quiet", "--file-allocation=none", "--save-session="+filepath.Join(t.TempDir(), "session"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for range 100 {
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			_ = c.Close()
			return "http://127.0.0.1:" + port
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("aria2c does not listen")
	return ""
}

// Ask makes a request: a body to be sent by POST, or the query of a GET behind "?".
func Ask(t testing.TB, server, request string) (status int, body string) {
	t.Helper()
	var r *http.Response
	var err error
	if strings.HasPrefix(request, "?") {
		r, err = new(http.Client).Get(server + "/jsonrpc" + request)
	} else {
		r, err = new(http.Client).Post(server+"/jsonrpc", "application/json", strings.NewReader(request))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close() //nolint:errcheck // it is only read
	all, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(all)
}

// Differ lists where two values differ, by their paths.
func Differ(path string, a, b any) (all []string) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		names := map[string]bool{}
		for n := range x {
			names[n] = true
		}
		for n := range y {
			names[n] = true
		}
		for n := range names {
			v, has := x[n]
			w, too := y[n]
			switch {
			case !has:
				all = append(all, fmt.Sprintf("%s.%s: theirs only (%v)", path, n, w))
			case !too:
				all = append(all, fmt.Sprintf("%s.%s: ours only (%v)", path, n, v))
			default:
				all = append(all, Differ(path+"."+n, v, w)...)
			}
		}
		slices.Sort(all)
		return all
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			break
		}
		for i := range x {
			all = append(all, Differ(fmt.Sprintf("%s[%d]", path, i), x[i], y[i])...)
		}
		return all
	}
	if !reflect.DeepEqual(a, b) {
		all = append(all, fmt.Sprintf("%s: ours %v, theirs %v", path, a, b))
	}
	return all
}
