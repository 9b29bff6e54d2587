package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
)

// own is what is taken from mlget's report.
type own struct {
	LinkDelta   *float64 `json:"link_delta_seconds"`
	WastedBytes *int64   `json:"wasted_bytes"`
	Links       []struct {
		Reads int64 `json:"reads"`
	} `json:"links"`
}

// reads is how many system calls took bytes from connections; 0: it does not tell.
func (o own) reads() (sum int64) {
	for _, l := range o.Links {
		sum += l.Reads
	}
	return sum
}

// readOwn reads a file of mlget's report.
func readOwn(path string) (own, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return own{}, err
	}
	return parseOwn(text)
}

// parseOwn reads mlget's report, schema 1.
func parseOwn(text []byte) (own, error) {
	var o own
	if err := json.Unmarshal(text, &o); err != nil {
		return own{}, fmt.Errorf("mlget's report: %w", err)
	}
	if o.LinkDelta != nil && (math.IsNaN(*o.LinkDelta) || *o.LinkDelta < 0 || *o.LinkDelta > longestRun) {
		return own{}, fmt.Errorf("mlget's report: link_delta_seconds %g", *o.LinkDelta)
	}
	if o.WastedBytes != nil && *o.WastedBytes < 0 {
		return own{}, fmt.Errorf("mlget's report: wasted_bytes %d", *o.WastedBytes)
	}
	for _, l := range o.Links {
		if l.Reads < 0 {
			return own{}, fmt.Errorf("mlget's report: reads %d", l.Reads)
		}
	}
	return o, nil
}
