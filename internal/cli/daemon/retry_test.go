package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestRestartRetriesWhatFailedForTheNetwork: links may have come back while there was no daemon.
// What failed for another reason stays as it is.
func TestRestartRetriesWhatFailedForTheNetwork(t *testing.T) {
	s, dir := files(t), t.TempDir()
	lines := fmt.Sprintf(`{"job":{"gid":"00000000000000a1","state":"error","uris":["%s/f1"],"code":6,"message":"no link","retryable":true},"at":-1}
{"job":{"gid":"00000000000000a2","state":"error","uris":["%s/f2"],"code":3,"message":"not found"},"at":-1}
`, s.URL, s.URL)
	if err := os.WriteFile(filepath.Join(dir, ".session"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := begin(t, dir)
	c.until("00000000000000a1", "complete")
	checkFile(t, filepath.Join(dir, "f1"), "/f1")
	if st := c.status("00000000000000a2"); st["status"] != "error" || st["errorCode"] != "3" {
		t.Error(st)
	}
}
