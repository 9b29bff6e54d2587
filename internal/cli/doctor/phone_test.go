package doctor

import (
	"fmt"
	"strings"
	"testing"
)

// TestAdvice: which ways to cellular and which dangers there are, by release. adb
// without a cable came with Android 11, the per-app setting and the end of child
// processes with 12, the switch against the latter with 12L and in the developer
// options with 14.
func TestAdvice(t *testing.T) {
	const app, other, shell = 10123, 1010123, 2000
	for _, c := range []struct {
		level, uid int
		says       []string
		silent     []string
	}{
		{27, app, []string{"root, adb from a computer;"}, []string{"from Termux to itself", "preferred_uids", "signal 9"}},
		{30, app, []string{"adb from Termux to itself"}, []string{"preferred_uids", "signal 9"}},
		{31, app, []string{"adb from Termux to itself", "preferred_uids", "no setting against it"}, []string{"phantom_procs"}},
		{33, other, []string{"preferred_uids", "settings_enable_monitor_phantom_procs false"}, []string{"Disable child process"}},
		{35, app, []string{"preferred_uids", "Disable child process restrictions", "termux-wake-lock"}, []string{"phantom_procs"}},
		{0, app, []string{"adb from Termux to itself", "preferred_uids", "phantom_procs"}, nil},
		{35, shell, []string{"this user may use it", "mobile_data_always_on"}, []string{"signal 9", "wake-lock"}},
		{35, 0, []string{"this user may use it"}, []string{"signal 9"}},
	} {
		text := fmt.Sprint(advice(c.level, c.uid, true))
		for _, want := range c.says {
			if !strings.Contains(text, want) {
				t.Errorf("API %d, user %d: %q is missing: %s", c.level, c.uid, want, text)
			}
		}
		for _, none := range c.silent {
			if strings.Contains(text, none) {
				t.Errorf("API %d, user %d: says %q: %s", c.level, c.uid, none, text)
			}
		}
	}
}
