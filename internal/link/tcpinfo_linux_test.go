package link

import (
	"math"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A kernel that fills in less must not be believed more.
func TestFromTCPInfo(t *testing.T) {
	raw := unix.TCPInfo{
		Options: optTimestamps, Rtt: 2000, Rcv_rtt: 8000, Rcv_ssthresh: 65_000, Last_data_recv: 3, Total_retrans: 4, Bytes_received: 5, Segs_in: 6, Segs_out: 7, Min_rtt: 1000,
		Data_segs_in: 8, Data_segs_out: 9,
	}
	old := TCPInfo{RTT: 2 * time.Millisecond, ReceiveRTT: 8 * time.Millisecond, ReceiveWindow: 65_000, LastDataRecv: 3 * time.Millisecond, Retrans: 4}
	for _, c := range []struct {
		size int
		want TCPInfo
		ok   bool
	}{
		{0, TCPInfo{}, false},
		{103, TCPInfo{}, false},
		{104, old, true},
		{136, TCPInfo{RTT: old.RTT, ReceiveRTT: old.ReceiveRTT, ReceiveWindow: old.ReceiveWindow, LastDataRecv: old.LastDataRecv, Retrans: 4, BytesReceived: 5}, true},
		{144, TCPInfo{RTT: old.RTT, ReceiveRTT: old.ReceiveRTT, ReceiveWindow: old.ReceiveWindow, LastDataRecv: old.LastDataRecv, Retrans: 4, BytesReceived: 5, SegsIn: 6, SegsOut: 7}, true},
		{152, TCPInfo{RTT: old.RTT, ReceiveRTT: old.ReceiveRTT, ReceiveWindow: old.ReceiveWindow, LastDataRecv: old.LastDataRecv, Retrans: 4, BytesReceived: 5, SegsIn: 6, SegsOut: 7, MinRTT: time.Millisecond}, true},
		{159, TCPInfo{RTT: old.RTT, ReceiveRTT: old.ReceiveRTT, ReceiveWindow: old.ReceiveWindow, LastDataRecv: old.LastDataRecv, Retrans: 4, BytesReceived: 5, SegsIn: 6, SegsOut: 7, MinRTT: time.Millisecond}, true},
		{160, TCPInfo{
			RTT: old.RTT, ReceiveRTT: old.ReceiveRTT, ReceiveWindow: old.ReceiveWindow, LastDataRecv: old.LastDataRecv, Retrans: 4, BytesReceived: 5, SegsIn: 6, SegsOut: 7, MinRTT: time.Millisecond,
			DataSegsIn: 8, DataSegsOut: 9,
		}, true},
	} {
		if got, ok := fromTCPInfo(&raw, c.size); ok != c.ok || got != c.want {
			t.Errorf("%d bytes: %+v, %v, want %+v, %v", c.size, got, ok, c.want, c.ok)
		}
	}
	raw.Min_rtt = math.MaxUint32
	if got, _ := fromTCPInfo(&raw, unix.SizeofTCPInfo); got.MinRTT != 0 {
		t.Errorf("no sample yet: %v", got.MinRTT)
	}
	raw.Options = 0
	if got, _ := fromTCPInfo(&raw, unix.SizeofTCPInfo); got.ReceiveRTT != 0 {
		t.Errorf("no timestamps: %v", got.ReceiveRTT)
	}
}
