package daemon

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestJobWithoutURIFails: changeUri takes a job's last URI away, as it may in aria2.
func TestJobWithoutURIFails(t *testing.T) {
	s, dir := files(t), t.TempDir()
	c, stop := begin(t, dir)
	waiting := c.must("aria2.addUri", []string{s.URL + "/f1"}, map[string]any{"pause": "true"}).(string)
	active := c.must("aria2.addUri", []string{s.URL + "/f2"}, map[string]any{"max-download-limit": "100K"}).(string)
	c.until(active, "active")
	for gid, uri := range map[string]string{waiting: "/f1", active: "/f2"} {
		c.must("aria2.changeUri", gid, 1, []string{s.URL + uri}, []string{})
		c.ask("aria2.getServers", gid)
	}
	c.must("aria2.unpause", waiting)
	for _, gid := range []string{waiting, active} {
		if st := c.until(gid, "error", "complete"); st["status"] != "error" || st["errorMessage"] == "" {
			t.Error(st)
		}
	}
	stop()
	c, _ = begin(t, dir)
	c.until(waiting, "error")
}

// TestTamperedSessionLeadsNowhereElse: a session whose jobs lie elsewhere, written by hand or for
// another --dir, makes no file there, and none in the place of one that is there.
func TestTamperedSessionLeadsNowhereElse(t *testing.T) {
	s, dir, elsewhere := files(t), t.TempDir(), t.TempDir()
	precious := filepath.Join(elsewhere, "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	quoted := func(text string) string {
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	up, err := filepath.Rel(dir, elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	jobs := []string{
		`"options":{"dir":` + quoted(elsewhere) + `}`,
		`"options":{"dir":` + quoted(up) + `}`,
		`"options":{"out":` + quoted(up+"/out") + `}`,
		`"begun":true,"path":` + quoted(precious),
		`"begun":true,"path":` + quoted(elsewhere+"/.."),
		`"options":{"header":"X: a\r\nHost: b","timeout":"1 --config=/etc/passwd","checksum":"x","max-download-limit":"-5"}`,
		`"options":{"dir":"a/../.."}`,
	}
	var lines strings.Builder
	for i, job := range jobs {
		fmt.Fprintf(&lines, `{"job":{"gid":"00000000000000a%d","state":"waiting","uris":["%s/f%d"],%s},"at":-1}`+"\n", i, s.URL, i, job)
	}
	fmt.Fprintf(&lines, `{"global":{"dir":%s,"max-concurrent-downloads":"-5","max-overall-download-limit":"x"}}`+"\n", quoted(elsewhere))
	if err := os.WriteFile(filepath.Join(dir, ".session"), []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := begin(t, dir)
	for i := range jobs {
		st := c.until(fmt.Sprintf("00000000000000a%d", i), "error", "complete")
		if i < 2 && !strings.Contains(st["errorMessage"].(string), "below") {
			t.Errorf("job %d is saved where it was not to be: %v", i, st)
		}
	}
	c.until(c.must("aria2.addUri", []string{s.URL + "/f8"}).(string), "error", "complete")
	entries, err := os.ReadDir(elsewhere)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v: %v", err, entries)
	}
	if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
		t.Errorf("%v: %q", err, text)
	}
}
