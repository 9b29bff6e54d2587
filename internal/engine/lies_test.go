package engine

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"sync/atomic"
	"testing"
)

// TestBatchOfLies: a server that says of some files that they are larger than anything is harms
// no others, be it believed of each or of all together.
func TestBatchOfLies(t *testing.T) {
	for _, size := range []int64{math.MaxInt64, 1<<62 - 1, addressMost + 1, addressMost / 2} {
		r := newRig(t)
		s := serve(t, &shop{gate: func(w http.ResponseWriter, req *http.Request, o *object) bool {
			if o.body.Size != 77 {
				return false
			}
			off, end := asked(req)
			end = min(end, size)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", off, end-1, size))
			w.Header().Set("Content-Length", fmt.Sprint(end-off))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = io.CopyN(w, nothing{}, end-off)
			return true
		}})
		const honest, lies = 20, 5
		wares := mixed(s, honest, false)
		for range lies {
			wares = append(wares, ware{base: s, size: 77})
		}
		h := r.haul(t.Context(), Batch{}, wares...)
		for i := range honest {
			if err := h.errs[h.jobs[i].ID]; err != nil {
				t.Errorf("%d: an honest file: %v", size, err)
			}
			h.has(i)
		}
		for i := range lies {
			if h.errs[h.jobs[honest+i].ID] == nil {
				t.Errorf("%d was believed", size)
			}
		}
	}
}

// TestIndexOfLies: neither do sizes that an index tells, of files that are there.
func TestIndexOfLies(t *testing.T) {
	for _, size := range []int64{math.MaxInt64, addressMost + 1, addressMost / 2} {
		r := newRig(t)
		s := serve(t, &shop{})
		const lies, honest = 5, 20
		var wares []ware
		for i := range lies {
			wares = append(wares, ware{base: s, path: fmt.Sprintf("/%d/%d", i+1, 1000), size: size, known: true})
		}
		h := r.haul(t.Context(), Batch{}, append(wares, mixed(s, honest, false)...)...)
		for i := lies; i < lies+honest; i++ {
			h.has(i)
		}
	}
}

// TestSizesOfAnIndexCanBeAdded: samples and tuning sum the sizes of files that no server has
// confirmed.
func TestSizesOfAnIndexCanBeAdded(t *testing.T) {
	b := &batch{}
	f := &file{fileObject: fileObject{size: -1}, job: &Job{Size: math.MaxInt64}}
	for sum, n := int64(0), 0; n < 1_000_000; n++ {
		if sum += b.likely(f); sum <= 0 {
			t.Fatalf("%d bytes of %d files", sum, n+1)
		}
	}
}

// TestWhatIsToComeIsBounded, however many jobs there are still to be read, and whatever the sizes
// were of those before.
func TestWhatIsToComeIsBounded(t *testing.T) {
	ahead := &atomic.Int64{}
	ahead.Store(1 << 30)
	b := &batch{spec: &Batch{Ahead: ahead}, supply: supply{sizes: sizes{bytes: addressMost, files: 1}}}
	if n := b.bytesToCome(); n <= 0 || n > addressMost {
		t.Errorf("%d bytes", n)
	}
}

// nothing is as many zeros as anybody reads.
type nothing struct{}

func (nothing) Read(p []byte) (int, error) { clear(p); return len(p), nil }
