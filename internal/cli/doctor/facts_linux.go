package doctor

import (
	"bytes"
	"context"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mlget/mlget/internal/android"
)

// systemFacts reads what decides what the program may do. Nothing of it names
// a person or a place.
func systemFacts(ctx context.Context) []fact {
	var facts []fact
	add := func(name, value string) {
		if value = strings.TrimRight(strings.TrimSpace(value), "\x00"); value != "" {
			facts = append(facts, fact{name, value})
		}
	}
	var uts unix.Utsname
	if unix.Uname(&uts) == nil { // its file in /proc is closed to everybody on Android
		add("kernel", unix.ByteSliceToString(uts.Release[:]))
	}
	add("SELinux", read("/proc/self/attr/current"))
	for line := range bytes.Lines([]byte(read("/proc/self/status"))) {
		for _, key := range []string{"Seccomp", "CapEff", "NoNewPrivs"} {
			if value, ok := bytes.CutPrefix(line, []byte(key+":")); ok {
				add(key, string(value))
			}
		}
	}
	if android.Here("") {
		add("Android", property(ctx, "ro.build.version.release"))
		add("API level", property(ctx, "ro.build.version.sdk"))
		add("model", property(ctx, "ro.product.model"))
	}
	return facts
}

// property is one of Android's system properties, "" where it cannot be told. The
// file that holds them is root's.
func property(ctx context.Context, name string) string {
	return android.Ask(ctx, "getprop", name)
}

// settingOf is one of Android's settings, a table and a name, "" where it cannot be told.
func settingOf(ctx context.Context, setting string) string {
	return android.Ask(ctx, "settings", append([]string{"get"}, strings.Fields(setting)...)...)
}

// read gives the beginning of a file; an unreadable one is empty.
func read(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // nothing was written
	b := make([]byte, 64<<10)
	n, _ := f.Read(b) // what cannot be read is not there
	return string(b[:n])
}
