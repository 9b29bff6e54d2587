package energy

// TCPCost is the cost of TCP's work on the processor, in µJ, radio excluded [Wang and Singh,
// "Analysis of TCP's Computational Energy Cost for Mobile Computing", 2003, tables 2 and 3].
type TCPCost struct {
	Name string

	Processing    float64 // of a packet in the TCP/IP stack
	NICCopy       float64 // of a packet between kernel and network card
	UserCopy      float64 // of a packet between kernel and process
	Timeout       float64 // handling a timeout, without copying the packet again
	TripleDupACK  float64 // handling three duplicate ACKs, without copying the packet again
	Acknowledging float64 // an ACK that carries no data, most of it copying
}

// TCPCosts returns the paper's three systems at an MTU of 1500 bytes [table 3]: a PDA, and a
// laptop with two releases of FreeBSD. They were measured at the sender; a receiver spends 5 to
// 15 % less [5.1]. They are machines of 2003 with network cards without DMA, and a phone of
// today spends a small fraction of it: figures from them must be shown with that warning.
func TCPCosts() []TCPCost {
	return []TCPCost{
		{
			Name:       "ipaq",
			Processing: 761, NICCopy: 4413, UserCopy: 916,
			Timeout: 1302, TripleDupACK: 1051, Acknowledging: 176,
		},
		{
			Name:       "freebsd4.2",
			Processing: 1589, NICCopy: 16251, UserCopy: 1417,
			Timeout: 2710, TripleDupACK: 2406, Acknowledging: 1209,
		},
		{
			Name:       "freebsd5",
			Processing: 1546, NICCopy: 15207, UserCopy: 3015,
			Timeout: 2660, TripleDupACK: 2380, Acknowledging: 1188,
		},
	}
}

// TCPCounts is how much TCP had to do on a connection, or on many.
type TCPCounts struct {
	Packets       int64 // with data, in and out, those sent again not counted
	Timeouts      int64 // packets sent again after a timeout
	TripleDupACKs int64 // packets sent again after three duplicate ACKs
	ACKs          int64 // without data, in and out
}

// Joules is the computational energy of equation 1: every packet is processed
// and copied twice; one that is sent again is handled, and copied to the card
// once more [3, 6.2]. It is modelled, always.
func (c *TCPCost) Joules(n TCPCounts) float64 {
	return 1e-6 * (float64(n.Packets)*(c.Processing+c.NICCopy+c.UserCopy) +
		float64(n.Timeouts)*(c.Timeout+c.NICCopy) +
		float64(n.TripleDupACKs)*(c.TripleDupACK+c.NICCopy) +
		float64(n.ACKs)*c.Acknowledging)
}

// Segments are the counts of Linux's TCP_INFO on a connection, or the sum over many.
type Segments struct {
	In      int64 // tcpi_segs_in
	Out     int64 // tcpi_segs_out
	DataIn  int64 // tcpi_data_segs_in; of In, those with data
	DataOut int64 // tcpi_data_segs_out; of Out, those with data
	Retrans int64 // tcpi_total_retrans; of DataOut, those sent again
}

// Counts is the work behind segments. TCP_INFO does not tell why a segment was sent again: all
// are taken for timeouts, which a downloader's short requests end in, and which cost more [D].
// Contradicting numbers give no negative count.
func (s Segments) Counts() TCPCounts {
	return TCPCounts{
		Packets:  s.DataIn + max(0, s.DataOut-s.Retrans),
		Timeouts: s.Retrans,
		ACKs:     max(0, s.In-s.DataIn) + max(0, s.Out-s.DataOut),
	}
}
