package android

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Ask is what a program of Android's own, below /system/bin, prints; "" where it cannot be told.
// A build that does not know that it is on Android must not start programs there: the filter of
// system calls would kill it.
func Ask(ctx context.Context, program string, args ...string) string {
	if runtime.GOOS != "android" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	value, err := exec.CommandContext(ctx, "/system/bin/"+program, args...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(value))
}
