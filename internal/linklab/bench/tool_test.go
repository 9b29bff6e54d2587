package bench

import (
	"strings"
	"testing"

	"github.com/mlget/mlget/internal/linklab/scenario"
)

func mustParse(t *testing.T, names string) (tools []Tool) {
	t.Helper()
	for name := range strings.SplitSeq(names, ",") {
		tool, err := ParseTool(name)
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, tool)
	}
	return tools
}

func TestParseTool(t *testing.T) {
	for name, want := range map[string]Tool{
		"mlget":        {"mlget", Mlget, "", false},
		"mlget-3":      {"mlget-3", Mlget, "3", false},
		"mlget-single": {"mlget-single", Mlget, "single", false},
		"aria2-16":     {"aria2-16", Aria2, "16", false},
		"axel":         {"axel", Axel, "", false},
		"wget2":        {"wget2", Wget2, "", false},
		"curl-best":    {"curl-best", Curl, "best", false},
		"curl-rmnet0":  {"curl-rmnet0", Curl, "rmnet0", false},
		"curl-mptcp":   {"curl-mptcp", CurlMPTCP, "", false},
	} {
		if got, err := ParseTool(name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{
		"", "-", "mlget-", "mlget--x", "mlget-a b", "aria2", "aria2-0", "aria2-17", "aria2-02", "aria2-x", "curl", "curl-", "axel-4", "wget",
		"curl-0123456789abcdef", "curl-a/b", "mlget-\n",
	} {
		if got, err := ParseTool(name); err == nil {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func FuzzParseTool(f *testing.F) {
	for _, name := range []string{"mlget-3", "aria2-16", "curl-if!x", "axel", "mlget-; rm", "curl-mptcp"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		tool, err := ParseTool(name)
		if err != nil {
			return
		}
		if tool.program() == "" {
			t.Errorf("%q has no program", name)
		}
		// Whatever was asked for, it can be no flag and no other link.
		for _, a := range tool.args(Request{URL: "http://192.0.2.1/", Links: []scenario.Link{{Name: "wlan0"}}}) {
			if strings.ContainsAny(a, " \n;,") || a == "" {
				t.Errorf("%q: argument %q", name, a)
			}
		}
	})
}

func TestArgs(t *testing.T) {
	links := []scenario.Link{{Name: "wlan0", DownMbps: 8}, {Name: "rmnet0", DownMbps: 64}}
	inClear := Request{URL: "http://192.0.2.1/b", Transport: Clear, Links: links}
	modelled := inClear
	modelled.Model = "/model.json"
	secure := Request{URL: "https://192.0.2.1/b", CA: "/ca", Transport: TLS2, Links: links}
	local := Request{URL: "https://192.0.2.1/b", CA: "/ca", Transport: TLS1}
	for _, c := range []struct {
		tool string
		r    Request
		want string
	}{
		{"mlget-3", inClear, "--algorithm 3 --links wlan0,rmnet0 --quiet --report report.json -o out.bin http://192.0.2.1/b"},
		{"mlget-min-energy", inClear, "--energy min-energy --links wlan0,rmnet0 --quiet --report report.json -o out.bin http://192.0.2.1/b"},
		{"mlget-emtcp", modelled, "--energy emtcp --links wlan0,rmnet0 --quiet --report report.json -o out.bin --energy-model /model.json http://192.0.2.1/b"},
		{"mlget", secure, "--links wlan0,rmnet0 --quiet --report report.json -o out.bin --cacert /ca https://192.0.2.1/b"},
		{"mlget", local, "--links lo --quiet --report report.json -o out.bin --http1.1 --cacert /ca https://192.0.2.1/b"},
		{"aria2-16", inClear, "--no-conf --quiet -x16 -s16 --min-split-size=1M --file-allocation=none -o out.bin --multiple-interface=wlan0,rmnet0 http://192.0.2.1/b"},
		{"aria2-1", local, "--no-conf --quiet -x1 -s1 --min-split-size=1M --file-allocation=none -o out.bin --ca-certificate=/ca https://192.0.2.1/b"},
		{"axel", inClear, "-q -4 -n 4 -o out.bin http://192.0.2.1/b"},
		{"axel", secure, "-q -4 -n 4 -o out.bin --insecure https://192.0.2.1/b"},
		{"curl-best", inClear, "-q -sS -f -o out.bin --interface if!rmnet0 --http1.1 http://192.0.2.1/b"},
		{"curl-wlan0", secure, "-q -sS -f -o out.bin --interface if!wlan0 --http2 --cacert /ca https://192.0.2.1/b"},
		{"curl-best", local, "-q -sS -f -o out.bin --http1.1 --cacert /ca https://192.0.2.1/b"},
		{"curl-mptcp", inClear, "run curl -q -sS -f -o out.bin --http1.1 http://192.0.2.1/b"},
		{"wget2", inClear, "--no-config -q -O out.bin --http2=off http://192.0.2.1/b"},
		{"wget2", secure, "--no-config -q -O out.bin --ca-certificate=/ca https://192.0.2.1/b"},
	} {
		if got := strings.Join(mustParse(t, c.tool)[0].args(c.r), " "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.tool, got, c.want)
		}
	}
	if got := mustParse(t, "axel")[0].files(inClear)[".axelrc"]; got != "interfaces = wlan0 rmnet0\n" {
		t.Errorf("axelrc: %q", got)
	}
}

func TestSourceRulesOnlyWhereNeeded(t *testing.T) {
	for _, tool := range mustParse(t, "mlget,mlget-3,aria2-2,axel,curl-best,curl-wlan0,curl-mptcp,wget2") {
		want := tool.Family == Aria2 || tool.Family == Axel
		if tool.traits().byAddress != want {
			t.Errorf("%s: %v", tool.Name, !want)
		}
	}
}
