package release_test

import (
	"bufio"
	"bytes"
	"debug/buildinfo"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/goproxytest"

	"github.com/mlget/mlget/internal/release"
)

// dist is what `make dist` has made.
func dist(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("MLGET_DIST")
	if dir == "" {
		t.Skip("make dist runs this")
	}
	return dir
}

// one is the file in dist of a pattern.
func one(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dist(t), pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// run runs a program that must succeed, and gives what it says.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, &errors)
	}
	return string(out)
}

// TestDistPrograms: the phone's are what Android runs, and what each program is linked
// of has its licence beside it.
func TestDistPrograms(t *testing.T) {
	for name, arch := range map[string]string{"mlget-android-arm64": "aarch64", "mlget-linux-arm": "arm"} {
		if err := release.CheckBinary(bytes.NewReader(read(t, one(t, name))), arch); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	licences := string(read(t, one(t, "copyright")))
	programs, _ := filepath.Glob(filepath.Join(dist(t), "*-[a-z]*-[a-z]*")) // the pattern is right
	for _, name := range programs {
		info, err := buildinfo.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, dep := range info.Deps {
			if _, after, ok := strings.Cut(licences, "\n---- "+dep.Path+" "+dep.Version+"\n\n"); !ok || !strings.Contains(after[:200], "icense") && !strings.Contains(after[:200], "opyright") {
				t.Errorf("%s: no licence of %s %s", filepath.Base(name), dep.Path, dep.Version)
			}
		}
	}
}

// TestDistMetrics: without net/http's own HTTP/2 the program still downloads over HTTP/2,
// serves metrics, and pushes them to a gateway that speaks HTTP/2 as well.
func TestDistMetrics(t *testing.T) {
	const lean = "nethttpomithttp2"
	for _, name := range []string{"mlget-android-arm64", "mlget-linux-arm64", "mlget-linux-" + runtime.GOARCH} {
		info, err := buildinfo.ReadFile(one(t, name))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(info.Settings, debug.BuildSetting{Key: "-tags", Value: lean}) {
			t.Errorf("%s is built without the tag %s: %v", name, lean, info.Settings)
		}
	}
	asked := make(chan string, 2)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- fmt.Sprintf("%s %s %t", r.Method, r.Proto, bytes.Contains(body, []byte("mlget_")))
		_, _ = io.WriteString(w, "hello")
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	authority := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(one(t, "mlget-linux-"+runtime.GOARCH), "--links", "lo", "-o", "-", "--metrics-push", srv.URL,
		"--metrics-listen", "127.0.0.1:0", "--metrics-linger", "1m", srv.URL+"/object")
	cmd.Env = []string{"SSL_CERT_FILE=" + authority}
	says, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	if got := <-asked; got != "GET HTTP/2.0 false" {
		t.Errorf("the download is asked for with %s", got)
	}
	if got := <-asked; got != "PUT HTTP/1.1 true" {
		t.Errorf("the gateway is told with %s", got)
	}
	address := regexp.MustCompile(`http://[0-9.:]+/metrics`)
	for lines := bufio.NewScanner(says); lines.Scan(); {
		at := address.FindString(lines.Text())
		if at == "" {
			continue
		}
		res, err := srv.Client().Get(at)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close() //nolint:errcheck // it is only read
		if page, err := io.ReadAll(res.Body); err != nil || !bytes.Contains(page, []byte("mlget_")) {
			t.Errorf("%v\n%s", err, page)
		}
		return
	}
	t.Error("it does not say where metrics are served")
}

// TestDistImage makes the image's tree as the Dockerfile says, and downloads in it as
// its user, over TLS, with its authorities.
func TestDistImage(t *testing.T) {
	if os.Getuid() != 0 || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("it takes root to change the root")
	}
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer srv.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw})
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	var uid, gid uint32
	var dir, entry string
	for line := range strings.Lines(string(read(t, one(t, "Dockerfile")))) {
		words := strings.Fields(strings.ReplaceAll(line, "${TARGETARCH}", runtime.GOARCH))
		if len(words) == 0 || words[0] == "#" || words[0] == "ARG" {
			continue
		}
		var err error
		switch last := words[len(words)-1]; words[0] {
		case "FROM":
			if root = t.TempDir(); words[1] != "scratch" { // another stage, which is not tried
				continue
			}
			err = os.Chmod(root, 0o755)
		case "COPY":
			from := words[len(words)-2]
			text, mode := authority, os.FileMode(0o644)
			if !strings.Contains(line, "--from=certificates") {
				text = read(t, one(t, from))
			}
			if strings.Contains(line, "--chmod=755") {
				mode = 0o755
			}
			err = errors.Join(os.MkdirAll(filepath.Join(root, filepath.Dir(last)), 0o755), os.WriteFile(filepath.Join(root, last), text, mode))
		case "USER":
			_, err = fmt.Sscanf(last, "%d:%d", &uid, &gid)
		case "WORKDIR":
			dir, err = last, os.Mkdir(filepath.Join(root, last), 0o755)
		case "ENTRYPOINT":
			entry = strings.Trim(last, `["]`)
		default:
			t.Fatalf("what is %s?", line)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if uid == 0 || gid == 0 {
		t.Fatal("it runs as root")
	}
	cmd := exec.Command(entry, "-q", "-o", "-", srv.URL)
	cmd.Dir, cmd.Env = dir, []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	if out := run(t, cmd); out != "hello" {
		t.Errorf("%q", out)
	}
}

// TestDistInstall: `go install` of a version makes a program that says it.
func TestDistInstall(t *testing.T) {
	const module, tagged = "github.com/mlget/mlget", "v0.98.7"
	dir := t.TempDir()
	at := filepath.Join(dir, strings.ReplaceAll(module, "/", "_")+"_"+tagged)
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, exec.Command("tar", "-xzf", one(t, "mlget-*.tar.gz"), "-C", at, "--strip-components=1"))
	proxy := goproxytest.NewTestServer(t, dir, "")
	cache := strings.TrimSpace(run(t, exec.Command("go", "env", "GOMODCACHE")))
	install := exec.Command("go", "install", module+"/cmd/mlget@"+tagged)
	install.Dir = dir
	install.Env = append(os.Environ(), "GOBIN="+dir, "GOFLAGS=-modcacherw", "GONOSUMDB=*", "GOMODCACHE="+filepath.Join(dir, "cache"),
		"GOPROXY="+proxy.URL+",file://"+filepath.Join(cache, "cache/download"))
	run(t, install)
	if out := run(t, exec.Command(filepath.Join(dir, "mlget"), "version")); !strings.HasPrefix(out, "mlget 0.98.7 ") {
		t.Errorf("%s", out)
	}
}
