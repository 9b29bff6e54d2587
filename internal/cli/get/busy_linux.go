package get

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

// busy is the time that all processors were busy since the system started; 0: it does not
// tell, as Android does not tell its apps.
func busy() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return busyOf(text)
}

// tick is the unit of /proc/stat: USER_HZ is 100 on every architecture that Go knows.
const tick = 10 * time.Millisecond

// busyOf reads the first line of /proc/stat (proc(5)): user, nice, system, idle, iowait, irq,
// softirq, steal, and guest times, which are part of user.
func busyOf(stat []byte) (sum time.Duration) {
	line, _, _ := bytes.Cut(stat, []byte{'\n'})
	fields := bytes.Fields(line)
	if len(fields) < 5 || string(fields[0]) != "cpu" {
		return 0
	}
	for i, field := range fields[1:min(len(fields), 9)] {
		n, err := strconv.ParseInt(string(field), 10, 50)
		if err != nil || n < 0 {
			return 0
		}
		if idle := i == 3 || i == 4; !idle {
			sum += time.Duration(n) * tick
		}
	}
	return sum
}
