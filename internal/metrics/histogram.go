package metrics

import (
	"slices"
	"strconv"
)

// bounds are the histogram's upper bounds, in seconds: from a request for a
// small file over Ethernet to one that a slow link works on for two minutes.
func bounds() []float64 {
	return []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120}
}

// histogram counts durations. Its zero value is ready.
type histogram struct {
	counts []int64 // by bound; the last is of those beyond all
	sum    float64 // seconds
}

func (h *histogram) observe(seconds float64) {
	all := bounds()
	if h.counts == nil {
		h.counts = make([]int64, len(all)+1)
	}
	i, _ := slices.BinarySearch(all, seconds) // a bound belongs to its own bucket
	h.counts[i]++
	h.sum += seconds
}

func (h *histogram) write(p *page, name, link string) {
	var n int64
	for i, bound := range bounds() {
		if h.counts != nil {
			n += h.counts[i]
		}
		p.name = name + "_bucket"
		p.int(n, "link", link, "le", strconv.FormatFloat(bound, 'g', -1, 64))
	}
	if h.counts != nil {
		n += h.counts[len(h.counts)-1]
	}
	p.int(n, "link", link, "le", "+Inf")
	p.name = name + "_sum"
	p.float(h.sum, "link", link)
	p.name = name + "_count"
	p.int(n, "link", link)
}
