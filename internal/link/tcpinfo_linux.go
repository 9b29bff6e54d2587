package link

import (
	"math"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// optTimestamps is TCPI_OPT_TIMESTAMPS.
const optTimestamps = 1

// readTCPInfo makes the system call itself, as x/sys's wrapper does not say
// how much of the structure the kernel filled in: older kernels know less. It never waits, so
// the runtime need not know of it.
func readTCPInfo(fd uintptr) (TCPInfo, bool) {
	var raw unix.TCPInfo
	size := uint32(unix.SizeofTCPInfo)
	_, _, errno := syscall.RawSyscall6(unix.SYS_GETSOCKOPT, fd, unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&raw)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return TCPInfo{}, false
	}
	return fromTCPInfo(&raw, int(size))
}

// fromTCPInfo takes the fields that lie within the first size bytes of raw,
// which the kernel wrote.
func fromTCPInfo(raw *unix.TCPInfo, size int) (TCPInfo, bool) {
	// Everything up to here is there since Linux 2.6.
	if size < int(unsafe.Offsetof(raw.Total_retrans)+unsafe.Sizeof(raw.Total_retrans)) {
		return TCPInfo{}, false
	}
	info := TCPInfo{
		RTT:           time.Duration(raw.Rtt) * time.Microsecond,
		ReceiveWindow: int64(raw.Rcv_ssthresh),
		LastDataRecv:  time.Duration(raw.Last_data_recv) * time.Millisecond,
		Retrans:       raw.Total_retrans,
	}
	// Without timestamps it is how long a window takes to come in, whatever its size.
	if raw.Options&optTimestamps != 0 {
		info.ReceiveRTT = time.Duration(raw.Rcv_rtt) * time.Microsecond
	}
	if size >= int(unsafe.Offsetof(raw.Bytes_received)+unsafe.Sizeof(raw.Bytes_received)) { // Linux 4.1
		info.BytesReceived = raw.Bytes_received
	}
	if size >= int(unsafe.Offsetof(raw.Bytes_acked)+unsafe.Sizeof(raw.Bytes_acked)) { // Linux 4.1
		info.BytesSent = raw.Bytes_acked
	}
	if size >= int(unsafe.Offsetof(raw.Bytes_sent)+unsafe.Sizeof(raw.Bytes_sent)) { // Linux 4.19
		info.BytesSent = raw.Bytes_sent
	}
	if size >= int(unsafe.Offsetof(raw.Segs_in)+unsafe.Sizeof(raw.Segs_in)) { // Linux 4.2
		info.SegsIn, info.SegsOut = raw.Segs_in, raw.Segs_out
	}
	if size >= int(unsafe.Offsetof(raw.Data_segs_out)+unsafe.Sizeof(raw.Data_segs_out)) { // Linux 4.6
		info.DataSegsIn, info.DataSegsOut = raw.Data_segs_in, raw.Data_segs_out
	}
	// Linux 4.6; all ones until the first sample.
	if size >= int(unsafe.Offsetof(raw.Min_rtt)+unsafe.Sizeof(raw.Min_rtt)) && raw.Min_rtt != math.MaxUint32 {
		info.MinRTT = time.Duration(raw.Min_rtt) * time.Microsecond
	}
	if size >= int(unsafe.Offsetof(raw.Rcv_ooopack)+unsafe.Sizeof(raw.Rcv_ooopack)) { // Linux 5.4
		info.OutOfOrder = raw.Rcv_ooopack
	}
	return info, true
}

// readUnread is how many bytes have come and were not read. It never waits, as readTCPInfo.
func readUnread(fd uintptr) int {
	var n int32
	if _, _, errno := syscall.RawSyscall(unix.SYS_IOCTL, fd, unix.TIOCINQ, uintptr(unsafe.Pointer(&n))); errno != 0 {
		return 0
	}
	return int(n)
}
