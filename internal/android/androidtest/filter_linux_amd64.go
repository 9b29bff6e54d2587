package androidtest

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrNoFilter says that the filter is not known for this machine.
var ErrNoFilter = errors.New("the filter of system calls is known for x86_64 only")

// Offsets in struct seccomp_data, and the machine that calls are counted for.
const (
	atNumber  = 0
	atMachine = 4
	x86_64    = 0xc000003e // AUDIT_ARCH_X86_64
)

// Confine puts this thread under the filter that an Android of the API level
// puts apps under, for ever; what it executes inherits it. It keeps the thread
// from running other goroutines. Like Android's the filter raises SIGSYS.
func Confine(sdk int) error {
	runtime.LockOSThread()
	stmt := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	const (
		load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equals = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		result = unix.BPF_RET | unix.BPF_K
	)
	program := []unix.SockFilter{
		stmt(load, atMachine),
		{Code: equals, K: x86_64, Jt: 1},
		stmt(result, unix.SECCOMP_RET_KILL_PROCESS),
		stmt(load, atNumber),
	}
	for _, c := range appCalls() {
		if c.since <= sdk {
			program = append(program, unix.SockFilter{Code: equals, K: c.number, Jf: 1}, stmt(result, unix.SECCOMP_RET_ALLOW))
		}
	}
	program = append(program, stmt(result, unix.SECCOMP_RET_TRAP))
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
}
