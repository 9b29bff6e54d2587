package cli

import (
	"bytes"
	"os"
	"strings"
)

// systemFacts reads what decides what the program may do. Nothing of it names
// a person or a place.
func systemFacts() []fact {
	var facts []fact
	add := func(name, value string) {
		if value = strings.TrimRight(strings.TrimSpace(value), "\x00"); value != "" {
			facts = append(facts, fact{name, value})
		}
	}
	add("kernel", read("/proc/sys/kernel/osrelease"))
	add("SELinux", read("/proc/self/attr/current"))
	for line := range bytes.Lines([]byte(read("/proc/self/status"))) {
		for _, key := range []string{"Seccomp", "CapEff", "NoNewPrivs"} {
			if value, ok := bytes.CutPrefix(line, []byte(key+":")); ok {
				add(key, string(value))
			}
		}
	}
	for line := range strings.Lines(read("/system/build.prop")) {
		for _, key := range []string{"ro.build.version.release", "ro.build.version.sdk", "ro.product.system.model"} {
			if value, ok := strings.CutPrefix(line, key+"="); ok {
				add(strings.TrimPrefix(strings.TrimPrefix(key, "ro.build.version."), "ro.product."), value)
			}
		}
	}
	return facts
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
