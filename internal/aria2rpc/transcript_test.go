package aria2rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/aria2rpc/aria2test"
	"github.com/mlget/mlget/internal/daemon"
)

// idle downloads nothing.
type idle struct{}

func (idle) Path(daemon.Job) (string, bool) { return "", true }
func (idle) Limit(int64)                    {}
func (idle) Download(ctx context.Context, _ daemon.Job, _ *daemon.Progress) daemon.Outcome {
	<-ctx.Done()
	return daemon.Outcome{Code: 7}
}

type anyURL struct{}

func (anyURL) Check(string) error { return nil }

func ours(t *testing.T, dir string) string {
	t.Helper()
	m := daemon.New(t.Context(), daemon.NewQueue(1000), nil, nil, idle{})
	t.Cleanup(func() { _ = m.Close() })
	s := httptest.NewServer(New(Config{Manager: m, Secret: "x", Dir: dir, UserAgent: "mlget", Mlget: "test", Allows: anyURL{}, Energy: battery{}}))
	t.Cleanup(s.Close)
	return s.URL
}

// call is a request with the secret.
func call(method string, params ...string) string {
	return `{"jsonrpc":"2.0","id":"q","method":"` + method + `","params":[` + strings.Join(append([]string{`"token:x"`}, params...), ",") + `]}`
}

// wanted says whether a difference is meant to be.
func wanted(difference string) bool {
	for _, part := range []string{
		".sessionId: ", ".mlget: ours only", ".version: ", // another program
		".enabledFeatures: ",                                  // and what it can
		".user-agent: ",                                       // and its name
		".file-allocation: ",                                  // which needs no space beforehand
		"mlget.getLinks",                                      // our own method
		".result: ours [aria2.addUri",                         // so the lists of methods have different lengths
		"Bencode decoding failed", "Could not parse Metalink", // neither is built in
		".bt-", ".ftp-", ".metalink-", ".follow-", ".seed-ratio", ".max-upload-limit", ".enable-peer-exchange", ".pause-metadata", ".rpc-save-upload-metadata", // so are their options
		".dht-", ".enable-dht", ".listen-port", ".peer-", ".max-overall-upload-limit",
		".conf-path", ".no-conf", ".netrc-path", ".help", ".daemon", ".quiet", ".rpc-", ".enable-rpc", ".stop", ".dscp", ".event-poll", ".rlimit-nofile", // of the program's start
		".auto-save-interval", ".save-session: ", ".ca-certificate", ".check-certificate", ".console-log-level", ".deferred-input", ".disable-ipv6", ".disk-cache", ".enable-color",
		".human-readable", ".min-tls-version", ".server-stat-timeout", ".show-", ".socket-recv-buffer-size", ".stderr", ".summary-interval", ".truncate-console-readout",
		`.uri: ours http://127.0.0.1:1/p, theirs http://u:`, // passwords are not shown
		".http-passwd: theirs only",
	} {
		if strings.Contains(difference, part) {
			return true
		}
	}
	return false
}

// transcript is requests that aria2 and we answer alike. Jobs are paused: what a download
// looks like is the affair of internal/cli/daemon's TestDownloadsLikeAria2.
func transcript() []string {
	const url = `["http://127.0.0.1:1/p"]`
	all := []string{
		`{`, `[]`, `1`, ``, `null`, `{"id":1}`, `{"jsonrpc":"2.0","id":1,"method":5}`, `{"jsonrpc":"2.0","id":[1],"method":"aria2.getVersion","params":{}}`,
		`{"jsonrpc":"2.0","method":"aria2.getVersion","params":["token:x"]}`, `{"jsonrpc":"1.0","id":7,"method":"aria2.getVersion","params":["token:x"]}`,
		`{"jsonrpc":"2.0","id":{"a":1},"method":"aria2.nope","params":["token:x"]}`, `{"jsonrpc":"2.0","id":1,"method":"aria2.getVersion"}`,
		`{"jsonrpc":"2.0","id":null,"method":"aria2.getSessionInfo","params":["token:x"]}`, `{"jsonrpc":"2.0","id":"` + "\u00e4" + `","method":"aria2.getSessionInfo","params":["token:y"]}`,
		`[{"jsonrpc":"2.0","id":1,"method":"aria2.getSessionInfo","params":["token:x"]},4,{"id":1,"method":"aria2.getVersion"}]`,
		`?method=aria2.getSessionInfo&id=foo&params=WyJ0b2tlbjp4Il0%3D`, `?method=aria2.getSessionInfo&id=foo`, `?`, `?method=aria2.getSessionInfo`,
		`?params=W3sianNvbnJwYyI6IjIuMCIsImlkIjoxLCJtZXRob2QiOiJhcmlhMi5nZXRWZXJzaW9uIn1d`,
		`{"jsonrpc":"2.0","id":"q","method":"system.listNotifications"}`, `{"jsonrpc":"2.0","id":"q","method":"system.listMethods"}`,
		call("aria2.getVersion"), call("aria2.nope"), call("aria2.addTorrent", `"x"`), call("aria2.addMetalink", `"x"`),
	}
	add := func(params ...string) { all = append(all, call("aria2.addUri", params...)) }
	add()
	for _, list := range []string{`[]`, `"x"`, `[1]`, `["foo"]`, `["magnet"]`} {
		add(list)
	}
	for _, o := range []string{
		`{"max-download-limit":"q"}`, `{"gid":"zz"}`, `{"split":"0"}`, `{"max-tries":"-1"}`, `{"continue":"x"}`, `{"checksum":"x"}`, `{"max-connection-per-server":"17"}`,
		`{"timeout":"0"}`, `{"http-accept-gzip":"1"}`, `{"file-allocation":"foo"}`, `{"min-split-size":"1K"}`, `{"gid":"0000000000000000"}`, `5`, `{"checksum":"sha-1=00"}`,
	} {
		add(url, o)
	}
	add(url, `{}`, `-1`)
	add(url, `{}`, `"1"`)
	job := func(gid, more string, at ...string) {
		add(append([]string{url, `{"pause":"true","gid":"` + gid + `"` + more + `}`}, at...)...)
	}
	job("aaaaaaaaaaaaaaa1", ``)
	job("aaaaaaaaaaaaaaa1", ``)
	job("aaaaaaaaaaaaaaa2", `,"zzz":"1","split":5,"continue":true,"max-download-limit":"200K","header":["A: b","C: d"],"out":"x.bin"`, `0`)
	job("BBBBBBBBBBBBBBB3", `,"header":"A: b","min-split-size":"1M","referer":"http://r/","http-user":"u","http-passwd":"p"`, `1`)
	job("ccccccccccccccc4", `,"checksum":"sha-1=0123456789012345678901234567890123456789","retry-wait":"3","piece-length":"2M"`, `99`)
	all = append(all, call("aria2.addUri", `["http://u:p@127.0.0.1:1/p","http://127.0.0.1:1/q"]`, `{"pause":"true","gid":"ddddddddddddddd5"}`))
	for _, gid := range []string{`"aaaaaaaaaaaaaaa1"`, `"aaaaaaaaaaaaaaa2"`, `"b"`, `"C"`, `"d"`, `"a"`, `"e"`, `"zz"`, `""`, `"aaaaaaaaaaaaaaaaa1"`, `5`} {
		for _, method := range []string{"tellStatus", "getUris", "getFiles", "getOption", "getPeers"} {
			all = append(all, call("aria2."+method, gid))
		}
	}
	for _, p := range []string{``, `0`, `0,10`, `0,10,["gid"]`, `-1,10,["gid"]`, `-2,2,["gid"]`, `1,2,["gid","nokey"]`, `9,2`, `-9,2`, `"0",10`, `0,-1`, `0,10,"gid"`, `0,10,[]`} {
		for _, method := range []string{"aria2.tellWaiting", "aria2.tellStopped"} {
			if p == "" {
				all = append(all, call(method))
				continue
			}
			all = append(all, call(method, p))
		}
	}
	for _, p := range []string{`"aaaaaaaaaaaaaaa1",0,"POS_SET"`, `"aaaaaaaaaaaaaaa1",9,"POS_END"`, `"aaaaaaaaaaaaaaa1",-1,"POS_END"`, `"aaaaaaaaaaaaaaa1",1,"POS_CUR"`, `"aaaaaaaaaaaaaaa1",-7,"POS_CUR"`, `"aaaaaaaaaaaaaaa1",5,"POS_X"`, `"aaaaaaaaaaaaaaa1",5`, `"aaaaaaaaaaaaaaa1","5","POS_SET"`, `"e",5,"POS_SET"`} {
		all = append(all, call("aria2.changePosition", p), call("aria2.tellWaiting", `0,10,["gid"]`))
	}
	for _, p := range []string{`1,["http://127.0.0.1:1/p"],["http://127.0.0.1:1/q","http://127.0.0.1:1/r"]`, `1,[],["http://127.0.0.1:1/s"],0`, `1,["http://127.0.0.1:1/none"],["nope"]`, `2,[],[]`, `0,[],[]`, `1,[]`, `1,[],[],-1`, `1,[],["http://127.0.0.1:1/t"],99`} {
		all = append(all, call("aria2.changeUri", `"aaaaaaaaaaaaaaa1"`, p), call("aria2.getUris", `"aaaaaaaaaaaaaaa1"`))
	}
	for _, p := range []string{`{"max-download-limit":"100K"}`, `{"bogus":"1"}`, `{"split":"0"}`, `5`, `{"out":"y","header":["X: y"]}`} {
		all = append(all, call("aria2.changeOption", `"aaaaaaaaaaaaaaa2"`, p), call("aria2.getOption", `"aaaaaaaaaaaaaaa2"`))
	}
	for _, p := range []string{`{"max-concurrent-downloads":"3"}`, `{"max-concurrent-downloads":"0"}`, `{"bogus":"0"}`, `{"split":"7","max-overall-download-limit":"1M"}`} {
		all = append(all, call("aria2.changeGlobalOption", p), call("aria2.getGlobalOption"))
	}
	job("ccccccccccccccc6", ``)
	return append(all, call("aria2.getOption", `"ccccccccccccccc6"`), call("aria2.changeOption", `"aaaaaaaaaaaaaaa2"`), call("aria2.changeGlobalOption"),
		call("aria2.getGlobalStat"), call("aria2.tellActive"), call("aria2.tellActive", `["gid"]`), call("aria2.tellActive", `5`), call("aria2.getSessionInfo"),
		call("aria2.unpause"), call("aria2.unpause", `"none"`), call("aria2.getServers"), call("aria2.getServers", `"aaaaaaaaaaaaaaa1"`), call("aria2.getServers", `"none"`),
		call("aria2.forcePause", `"aaaaaaaaaaaaaaa1"`), call("aria2.forcePause", `"none"`), call("aria2.forcePause"), call("aria2.forceRemove", `"none"`),
		call("aria2.saveSession"),
		call("aria2.pause", `"aaaaaaaaaaaaaaa1"`), call("aria2.pause", `"none"`), call("aria2.pause"), call("aria2.removeDownloadResult", `"aaaaaaaaaaaaaaa1"`),
		call("aria2.remove", `"ccccccccccccccc4"`), call("aria2.tellStatus", `"ccccccccccccccc4"`), call("aria2.remove", `"ccccccccccccccc4"`), call("aria2.getGlobalStat"),
		call("aria2.forceRemove", `"ccccccccccccccc6"`), call("aria2.tellStopped", `0,10`), call("aria2.purgeDownloadResult"), call("aria2.pauseAll"), call("aria2.forcePauseAll"),
		`{"jsonrpc":"2.0","id":"q","method":"system.multicall","params":[[{"methodName":"aria2.getSessionInfo","params":["token:x"]},{"methodName":"nope","params":[]},{"x":1},5,{"methodName":"system.multicall","params":[[]]},{"methodName":"aria2.getSessionInfo"},{"methodName":"aria2.tellWaiting","params":["token:x",0,1,["gid"]]}]]}`,
		call("system.multicall"), `{"jsonrpc":"2.0","id":"q","method":"system.multicall"}`, `{"jsonrpc":"2.0","id":"q","method":"foo"}`,
		call("aria2.unpauseAll"), `{"jsonrpc":"2.0","id":"q","method":"aria2.shutdown","params":["token:y"]}`, call("aria2.shutdown"), call("aria2.forceShutdown"),
	)
}

// TestTranscriptLikeAria2 sends the same requests to aria2c and to us, and compares the
// answers field by field.
func TestTranscriptLikeAria2(t *testing.T) {
	dir := t.TempDir()
	we, they := ours(t, dir), aria2test.Start(t, dir)
	seen := 0
	for _, request := range transcript() {
		status, body := aria2test.Ask(t, we, request)
		wantStatus, want := aria2test.Ask(t, they, request)
		seen++
		var a, b any
		if err := json.Unmarshal([]byte(body), &a); err != nil {
			t.Errorf("%s\n%v: %s", request, err, body)
			continue
		}
		if err := json.Unmarshal([]byte(want), &b); err != nil {
			t.Fatalf("%s\n%v: %s", request, err, want)
		}
		differences := slices.DeleteFunc(aria2test.Differ("", a, b), wanted)
		if status != wantStatus {
			differences = append(differences, fmt.Sprintf("HTTP status %d, theirs %d", status, wantStatus))
		}
		if len(differences) > 0 {
			t.Errorf("%s\n\t%s", request, strings.Join(differences, "\n\t"))
		}
	}
	if seen < 150 {
		t.Errorf("only %d requests", seen)
	}
}

// TestTranscriptHasAllMethods: the transcript calls every method that aria2 lists.
func TestTranscriptHasAllMethods(t *testing.T) {
	_, body := aria2test.Ask(t, aria2test.Start(t, t.TempDir()), `{"jsonrpc":"2.0","id":"q","method":"system.listMethods"}`)
	var theirs struct{ Result []string }
	if err := json.Unmarshal([]byte(body), &theirs); err != nil || len(theirs.Result) < 30 {
		t.Fatalf("%v: %s", err, body)
	}
	all := strings.Join(transcript(), "\n")
	for _, method := range theirs.Result {
		if !strings.Contains(all, `"`+method+`"`) {
			t.Errorf("%s is not called", method)
		}
	}
}
