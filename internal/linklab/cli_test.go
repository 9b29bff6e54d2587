package linklab

import (
	"bytes"
	"strings"
	"testing"
)

func call(args ...string) (status int, out, errOut string) {
	var o, e bytes.Buffer
	status = Main(args, strings.NewReader(""), &o, &e)
	return status, o.String(), e.String()
}

func TestBoundCommand(t *testing.T) {
	for _, tc := range []struct {
		args string
		want string
	}{
		{"--link a,down=80,rtt=16 --link b,down=20,rtt=50 --size 25MB", "2.118"},
		{"--link a,down=80,rtt=16 --link b,down=20,rtt=50 --size 25MB --tls", "2.141"},
		{"--scenario high-speed", "14.636"},
		{"", "14.636"},
	} {
		args := append([]string{"bound"}, strings.Fields(tc.args)...)
		status, out, errOut := call(args...)
		if status != 0 || out != tc.want+"\n" || errOut != "" {
			t.Errorf("%s: %d, %q, %q", tc.args, status, out, errOut)
		}
	}
	for args, want := range map[string]string{
		"bound --size 5X":                        "want a number with",
		"bound --size 0":                         "must be within",
		"bound --scenario none":                  "no scenario named",
		"bound --link a,power=steam":             "the models are wifi, ",
		"bound --link a":                         "needs down=",
		"bound x":                                "unknown command",
		"bound --link a,trace=/none":             "no such file",
		"bound --scenario lossy --link a,down=1": "--scenario and --link exclude each other",
		"run":                                    "no COMMAND: linklab run [flags] -- COMMAND",
		"list":                                   `there is no command "list"; linklab --help lists them`,
	} {
		status, out, errOut := call(strings.Fields(args)...)
		if status != statusFailed || out != "" || !strings.Contains(errOut, want) || strings.Count(errOut, "\n") != 1 {
			t.Errorf("%s: %d, %q, %q", args, status, out, errOut)
		}
	}
}

func TestScenariosCommand(t *testing.T) {
	status, out, errOut := call("scenarios")
	if status != 0 || errOut != "" {
		t.Fatalf("%d, %q", status, errOut)
	}
	for _, want := range []string{
		"wifi-dies: As high-speed; Wi-Fi falls silent for good.\n  link wlan0,down=82,up=20.5,rtt=16,queue=100,power=wifi-s7-mean\n",
		"  at 6s wlan0 down\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestUnknownFlagHasAHint: as mlget's own.
func TestUnknownFlagHasAHint(t *testing.T) {
	want := "linklab: unknown flag: --nope\nlinklab: hint: linklab run --help lists what there is\n"
	if status, _, errOut := call("run", "--nope"); status != statusFailed || errOut != want {
		t.Errorf("%d, %q, want %q", status, errOut, want)
	}
}

func TestParseSize(t *testing.T) {
	if got, err := ParseSize("1.5M"); err != nil || got != 3<<19 {
		t.Errorf("%d, %v", got, err)
	}
	for _, text := range []string{"", "0", "0.5", "-1", "1025T"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q = %d", text, got)
		}
	}
}
