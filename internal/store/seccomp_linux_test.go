package store

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call is a system call that is refused, as file systems and kernels do that do not
// know it.
type call struct {
	unix  uint32
	arg   uint32 // if flag is set, only where this argument has it
	flag  uint32
	errno syscall.Errno
}

const (
	syscallRenameat2 = unix.SYS_RENAMEAT2
	syscallLinkat    = unix.SYS_LINKAT
)

// noTmpfile: files cannot be made without a name.
func noTmpfile() call {
	return call{unix: unix.SYS_OPENAT, arg: 2, flag: unix.O_TMPFILE &^ unix.O_DIRECTORY, errno: syscall.EOPNOTSUPP}
}

// refuse makes calls fail from now on, in all threads of this process. It does not
// look at the processor: this process makes only calls of its own.
func refuse(calls []call) error {
	if len(calls) == 0 {
		return nil
	}
	const load, equal, set, give = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
		unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	var program []unix.SockFilter
	for _, c := range calls {
		errno := unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(c.errno)}
		program = append(program, unix.SockFilter{Code: load, K: 0}) // its number
		if c.flag == 0 {
			program = append(program, unix.SockFilter{Code: equal, Jf: 1, K: c.unix}, errno)
			continue
		}
		program = append(program,
			unix.SockFilter{Code: equal, Jf: 3, K: c.unix},
			unix.SockFilter{Code: load, K: 16 + 8*c.arg}, // the lower half, where the lower comes first
			unix.SockFilter{Code: set, Jf: 1, K: c.flag}, errno)
	}
	program = append(program, unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW})
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&filter)))
	if errno != 0 {
		return errno
	}
	return nil
}
