package engine

import "testing"

// TestSpace: every address leads to its file and its byte, however many files have
// come and gone.
func TestSpace(t *testing.T) {
	t.Parallel()
	var s addressSpace
	var live []*file
	for i := range int64(3000) {
		f := &file{fileObject: fileObject{size: i}}
		s.add(f, 0, 1+i%7)
		s.add(f, 1+i%7, 10)
		live = append(live, f)
		if i%3 > 0 { // most of them go again, those in the middle before the oldest
			k := len(live) / 2
			s.drop(live[k])
			live = append(live[:k], live[k+1:]...)
		}
		if i%100 != 0 {
			continue
		}
		for _, f := range live {
			for _, p := range f.pieces {
				for at := p.at.Off; at < p.at.End; at++ {
					got := s.find(at)
					if got.of != f || got.offset(at) != p.off+at-p.at.Off {
						t.Fatalf("address %d leads to another file or byte", at)
					}
				}
			}
		}
	}
	if n := len(s.pieces); n > 2*2*len(live)+2*leastGone {
		t.Errorf("%d pieces for %d files", n, len(live))
	}
}
