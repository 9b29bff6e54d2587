package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mlget/mlget/internal/fetch"
	"github.com/mlget/mlget/internal/store"
	"github.com/mlget/mlget/internal/testbody"
)

// spy is a file that counts how its bytes come.
type spy struct {
	fileSink
	spliced, written, largest atomic.Int64
	end                       atomic.Int64 // of the furthest byte that was written
	full                      int64        // beyond so many bytes that are moved the disk is full; 0: never
}

func (s *spy) MoveAt(m *store.Mover, n, off int64) (int64, error) {
	if s.full > 0 && s.spliced.Load() > s.full {
		return 0, &store.Error{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	k, err := s.fileSink.MoveAt(m, n, off)
	s.note(&s.spliced, k)
	return k, err
}

func (s *spy) WriteAt(p []byte, off int64) (int, error) {
	n, err := s.fileSink.WriteAt(p, off)
	s.note(&s.written, int64(n))
	raise(&s.end, off+int64(n))
	return n, err
}

func (s *spy) note(to *atomic.Int64, n int64) {
	to.Add(n)
	raise(&s.largest, n)
}

func raise(v *atomic.Int64, to int64) {
	for {
		old := v.Load()
		if to <= old || v.CompareAndSwap(old, to) {
			return
		}
	}
}

// fillSpy downloads over connections of the kernel's own into a spy.
func fillSpy(t *testing.T, r *rig, s *spy, job *Job) error {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Second, errors.New("the test took too long"))
	defer cancel()
	f, err := store.Open(job.Target, job.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // as it stands
	s.fileSink = fileSink{f}
	e := r.engine()
	defer e.Close()
	object, err := e.fill(ctx, job, s)
	if err == nil {
		_, err = s.Commit(ctx, object)
	}
	return err
}

func wantOut(t *testing.T, r *rig, b testbody.Body) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(r.dir, "out"))
	if err != nil || string(got) != string(bytesOf(b, 0, b.Size)) {
		t.Errorf("%v or wrong bytes", err)
	}
}

// TestMoves: clear HTTP/1.1 reaches a file without being copied where it comes in
// large portions or full blocks, which are no larger than they should; its end and
// TLS are copied.
func TestMoves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		block int
		tls   bool
	}{{"clear", 0, false}, {"small blocks", 20_000, false}, {"tls", 0, true}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := newObject(8*mib + 123)
			r := newRig(t, &testLink{name: "a", bare: true}, &testLink{name: "b", bare: true})
			r.cfg.BlockSize = c.block
			srv := serve(t, o)
			if c.tls {
				srv, r.cfg.HTTP = serveTLS(t, o)
				r.cfg.HTTP.Protocol = fetch.HTTP1
			}
			var s spy
			if err := fillSpy(t, r, &s, r.job(at(t, srv, "", "/f"))); err != nil {
				t.Fatal(err)
			}
			wantOut(t, r, o.body)
			moved, written := s.spliced.Load(), s.written.Load()
			if c.tls && moved > 0 || c.block > 0 && moved == 0 || moved+written < o.body.Size {
				t.Errorf("%d bytes moved, %d written", moved, written)
			}
			if n := s.largest.Load(); c.block > 0 && n > int64(c.block) {
				t.Errorf("%d bytes at once", n)
			}
			if c.block > 0 && s.end.Load() != o.body.Size {
				t.Error("the end was moved")
			}
		})
	}
}

// TestMovesNowhere: a disk that is full ends the download, whoever writes.
func TestMovesNowhere(t *testing.T) {
	t.Parallel()
	o := newObject(20 * mib)
	r := newRig(t, &testLink{name: "a", bare: true})
	r.cfg.BlockSize = 20_000 // full ones are sure to be moved
	s := spy{full: 3 * mib}
	var se *store.Error
	if err := fillSpy(t, r, &s, r.job(at(t, serve(t, o), "", "/f"))); !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &se) {
		t.Error(err)
	}
}

// TestGatheredBytesAreSeen: when a link stops in the middle, what it has brought
// is stored, though it is less than the reader was waiting for.
func TestGatheredBytesAreSeen(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{false: "clear", true: "tls"}[secure], func(t *testing.T) {
			t.Parallel()
			o := newObject(4 * mib)
			var s spy
			var stops atomic.Int64
			o.gate = func(w http.ResponseWriter, r *http.Request, _ int64) bool {
				off, end := asked(r)
				end = min(end, o.body.Size)
				w.Header().Set("Etag", o.etag)
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", off, end-1, o.body.Size))
				w.Header().Set("Content-Length", fmt.Sprint(end-off))
				w.WriteHeader(http.StatusPartialContent)
				body := io.NewSectionReader(o.body, off, end-off)
				for i := 1; ; i++ {
					// Fast enough for marks of tens of KiB.
					if _, err := io.CopyN(w, body, 20_001); err != nil {
						return true
					}
					_ = http.NewResponseController(w).Flush()
					time.Sleep(4 * time.Millisecond)
					if i%60 == 0 { // until it has all of them
						stops.Add(1)
						at, _ := body.Seek(0, io.SeekCurrent)
						for deadline := time.Now().Add(15 * time.Second); s.spliced.Load()+s.written.Load() < off+at; time.Sleep(time.Millisecond) {
							if time.Now().After(deadline) {
								t.Errorf("%d bytes were sent, %d are stored", off+at, s.spliced.Load()+s.written.Load())
								return true
							}
						}
					}
				}
			}
			r := newRig(t, &testLink{name: "a", bare: true})
			r.cfg.Algorithm = "single"
			r.cfg.StallTimeout = 0 // nothing else brings them out
			srv := serve(t, o)
			if secure {
				srv, r.cfg.HTTP = serveTLS(t, o)
				r.cfg.HTTP.Protocol = fetch.HTTP1
			}
			if err := fillSpy(t, r, &s, r.job(at(t, srv, "", "/f"))); err != nil {
				t.Fatal(err)
			}
			wantOut(t, r, o.body)
			if stops.Load() == 0 {
				t.Error("it never stopped")
			}
		})
	}
}
