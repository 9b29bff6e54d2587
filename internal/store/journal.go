package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mlget/mlget/internal/identity"
	"github.com/mlget/mlget/pkg/scheduler"
)

const (
	journalVersion = 1
	// maxJournal bounds the bytes of a journal that is read.
	maxJournal = 16 << 20
)

var (
	// errDamaged: what is in NAME.part.json cannot be relied on.
	errDamaged = errors.New("the journal is damaged")
	// errBlank: the file is empty, or has zeros only. A loss of power leaves that of a file
	// that was not synced, such as the first journal of a download.
	errBlank = errors.New("it is blank")
)

// journal is the content of NAME.part.json. It holds no credentials.
type journal struct {
	Version      int               `json:"mlget_journal"`
	URL          string            `json:"url"`
	URLSum       string            `json:"url_sha256"`
	Size         int64             `json:"size_bytes"` // -1: unknown
	ETag         string            `json:"etag,omitempty"`
	LastModified string            `json:"last_modified,omitempty"`
	Encoding     string            `json:"encoding,omitempty"`
	Adopted      int64             `json:"adopted_bytes,omitempty"` // left by another tool
	Done         []scheduler.Range `json:"done"`
	// Check is the SHA-256 of this encoding with Check empty. It finds torn
	// and damaged files; it is no protection against malice.
	Check string `json:"check"`
}

func (j journal) identity() identity.Identity {
	return identity.Identity{Size: j.Size, ETag: j.ETag, LastModified: j.LastModified, Encoding: j.Encoding}
}

// encode gives the bytes to write.
func (j journal) encode() ([]byte, error) {
	j.Check = ""
	if j.Done == nil {
		j.Done = []scheduler.Range{}
	}
	b, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("encode the journal: %w", err)
	}
	sum := sha256.Sum256(b)
	j.Check = hex.EncodeToString(sum[:])
	b, err = json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("encode the journal: %w", err)
	}
	return append(b, '\n'), nil
}

// decodeJournal accepts exactly what encode writes and nothing else: one object has one
// encoding, so no byte can be changed unnoticed. A file that no mlget wrote is ErrForeign, as
// far as that can be told.
func decodeJournal(b []byte) (journal, error) {
	if len(b) > maxJournal {
		return journal{}, fmt.Errorf("%w: it is too long", errDamaged)
	}
	if len(bytes.Trim(b, "\x00")) == 0 {
		return journal{}, fmt.Errorf("%w: %w", errDamaged, errBlank)
	}
	var j journal
	err := json.Unmarshal(b, &j)
	if j.Version == 0 && json.Valid(b) { // valid JSON, which a damaged journal of mlget's is not
		return journal{}, ErrForeign
	}
	if err != nil {
		return journal{}, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if j.Version != journalVersion {
		return journal{}, fmt.Errorf("%w or of another version: %d", errDamaged, j.Version)
	}
	again, err := j.encode()
	if err != nil {
		return journal{}, err
	}
	if !bytes.Equal(b, again) {
		return journal{}, errDamaged
	}
	if j.Size < -1 || j.Adopted < 0 || j.Size >= 0 && j.Adopted > j.Size {
		return journal{}, fmt.Errorf("%w: it contradicts itself", errDamaged)
	}
	if err := checkRanges(j.Done, j.Size); err != nil {
		return journal{}, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return j, nil
}

// isJournal says whether b is a journal that a download would use.
func isJournal(b []byte) bool {
	_, err := decodeJournal(b)
	return err == nil
}

// checkRanges demands that ranges are not empty, sorted, disjoint and within
// size bytes (-1: unknown).
func checkRanges(ranges []scheduler.Range, size int64) error {
	var last int64
	for _, r := range ranges {
		if r.Off < last || r.Empty() {
			return fmt.Errorf("range %v is out of order", r)
		}
		last = r.End
	}
	if size >= 0 && last > size {
		return fmt.Errorf("ranges reach to %d in an object of %d bytes", last, size)
	}
	return nil
}

// endOf is the end of the last of sorted ranges.
func endOf(ranges []scheduler.Range) int64 {
	if len(ranges) == 0 {
		return 0
	}
	return ranges[len(ranges)-1].End
}
