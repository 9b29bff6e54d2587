package execpolicy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/mlget/mlget/pkg/scheduler"
)

// maxSize is the greatest size that all readers of JSON hold exactly (RFC 8259, 6).
const maxSize = 1<<53 - 1

// question is a line to the program: what a scheduler.View shows.
type question struct {
	ID       int64            `json:"id"`
	Run      int64            `json:"run"`
	Link     scheduler.LinkID `json:"link"`
	Size     int64            `json:"size_bytes"` // -1: unknown
	Total    int64            `json:"total_bytes"`
	Free     int64            `json:"free_bytes"`
	Left     int64            `json:"left_bytes"`
	First    int64            `json:"first_bytes"`
	Stealing bool             `json:"stealing"`
	Links    []linkView       `json:"links"`
}

// linkView is a link in a question.
type linkView struct {
	Usable    bool    `json:"usable"`
	Rate      float64 `json:"rate_bytes_per_second"`
	Bandwidth float64 `json:"bandwidth_bytes_per_second"`
	RTT       float64 `json:"rtt_seconds"`
	InFlight  int64   `json:"in_flight_bytes"`
	Assigned  int64   `json:"assigned_bytes"`
	Endgame   *int64  `json:"endgame_bytes,omitempty"` // nil: no bound
}

func newQuestion(v scheduler.View, id, run int64, link scheduler.LinkID) *question {
	q := &question{
		ID: id, Run: run, Link: link, Size: v.Size(), Total: v.Total(), Free: v.Free(), Left: v.Left(), First: v.First(),
		Stealing: v.Stealing(), Links: make([]linkView, v.Links()),
	}
	for l := range v.Links() {
		view := linkView{
			Usable: v.Usable(l), Rate: v.Rate(l), Bandwidth: v.Bandwidth(l), RTT: v.RTT(l).Seconds(),
			InFlight: v.InFlight(l), Assigned: v.Assigned(l),
		}
		if n := v.EndgameLimit(l); n < math.MaxInt64 {
			view.Endgame = &n
		}
		q.Links[l] = view
	}
	return q
}

// line is the question as it is sent. It fails when a rate is no number.
func (q *question) line() ([]byte, error) {
	b, err := json.Marshal(q)
	return append(b, '\n'), err
}

// greeting is the first line to a program; its id is 0.
func greeting() []byte { return fmt.Appendf(nil, "{\"id\":0,\"protocol\":%d}\n", Protocol) }

// answer is a line of the program's.
type answer struct {
	ID        int64
	Protocol  int   // of a greeting
	SizeBytes int64 // else
}

// parseAnswer checks a line of the program's.
func parseAnswer(line []byte) (answer, error) {
	var raw struct {
		ID       *int64 `json:"id"`
		Protocol *int   `json:"protocol"`
		Size     *int64 `json:"size_bytes"`
	}
	d := json.NewDecoder(bytes.NewReader(line))
	err := d.Decode(&raw)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the object")
		}
	}
	switch {
	case err != nil:
		return answer{}, fmt.Errorf("the program's answer is not of the protocol: %w: %.60q", err, line)
	case raw.ID == nil || *raw.ID < 0:
		return answer{}, fmt.Errorf("the program's answer has no id: %.60q", line)
	case *raw.ID == 0 && raw.Protocol == nil:
		return answer{}, fmt.Errorf("the program's greeting does not say which protocol it speaks: %.60q", line)
	case *raw.ID == 0:
		return answer{Protocol: *raw.Protocol}, nil
	case raw.Size == nil || *raw.Size < 0 || *raw.Size > maxSize:
		return answer{}, fmt.Errorf("the program's answer has no size within 0 to 2^53-1: %.60q", line)
	}
	return answer{ID: *raw.ID, SizeBytes: *raw.Size}, nil
}
