package linklab

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"
)

// evict kills the processes that are left in the network namespaces: what a command
// has started in a session of its own, or a shell in a group. They would keep the
// namespace. Those that were just started by one of them are found in the next pass;
// the guards of labs within this one end by themselves, and tidy up before.
func evict(spaces []string) {
	const passes = 10
	for range passes {
		found := false
		processes, err := os.ReadDir("/proc")
		if err != nil {
			return // without /proc there would be no lab
		}
		for _, p := range processes {
			pid, err := strconv.Atoi(p.Name())
			if err != nil || pid == os.Getpid() {
				continue
			}
			space, err := os.Readlink("/proc/" + p.Name() + "/ns/net")
			if err != nil || !slices.Contains(spaces, space) {
				continue // it may have ended
			}
			words, err := os.ReadFile("/proc/" + p.Name() + "/cmdline")
			if err == nil && bytes.Contains(words, []byte("\x00"+guardName+"\x00")) {
				continue
			}
			found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
		}
		if !found {
			return
		}
	}
}
