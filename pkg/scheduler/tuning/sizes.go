package tuning

import "math/bits"

// perOctave is how many buckets of a histogram lie between a size and twice that.
const perOctave = 8

// bucket is the files of about one size.
type bucket struct {
	files int64
	bytes int64
}

// mean is the mean size of its files in bytes; 0 without any.
func (b bucket) mean() float64 {
	if b.files == 0 {
		return 0
	}
	return float64(b.bytes) / float64(b.files)
}

// sizes is a histogram of file sizes: as large for a million files as for one.
type sizes struct {
	buckets [64 * perOctave]bucket
	all     bucket
}

// add counts a file of so many bytes.
func (s *sizes) add(bytes int64) {
	b := &s.buckets[place(bytes)]
	b.files++
	b.bytes += bytes
	s.all.files++
	s.all.bytes += bytes
}

// place is the bucket of a size: its octave, and the three bits behind the first.
func place(bytes int64) int {
	n := uint64(max(0, bytes))
	if n < perOctave {
		return int(n)
	}
	octave := bits.Len64(n) - 4 // n>>octave is 8 to 15
	return octave*perOctave + int(n>>octave)
}
