package linklab

import (
	"os"
	"strings"
	"testing"
)

// TestAKernelWithoutIPv6 hides what tells of IPv6: there is a lab without it.
func TestAKernelWithoutIPv6(t *testing.T) {
	SkipIfUnsupported(t)
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	cmd, out, errOut := mainCommand(t, "run", "--link", "wlan0,down=100", "--source-rules", "--size", "1K", "--",
		"sh", "-c", `echo "$LINKLAB_URL|$LINKLAB_URL6|$(curl -sS "$LINKLAB_URL" | wc -c)"`)
	cmd.Args = append([]string{"unshare", "-m", "sh", "-c", `mount -t tmpfs none /proc/sys/net || exit 99; exec "$0" "$@"`}, cmd.Args...)
	cmd.Path = "/usr/bin/unshare"
	err := cmd.Run()
	if cmd.ProcessState.ExitCode() == 99 || strings.Contains(errOut.String(), "unshare") {
		t.Skipf("no mounts here: %s", errOut)
	}
	if err != nil || out.String() != "http://192.0.2.1/body.bin||1024\n" {
		t.Errorf("%v, %q, %q", err, out, errOut)
	}
}
